// What scrolls in its own place can be reached, and so scrolled, by keyboard.
const reach = () => {
  for (const each of document.querySelectorAll("article pre, article table, article .table-wrapper, article div.math")) {
    if (each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight + 1) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
};
window.addEventListener("load", reach);
window.addEventListener("resize", reach);
document.addEventListener("toggle", reach, true); // details that open
