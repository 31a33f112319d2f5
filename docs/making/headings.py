"""Captions of the navigation are headings to a screen reader; Sphinx leaves out of which level."""


def give_levels(_app, _page, _template, context, _doctree):
    """Say the level in every tree that the theme has put into a page's context."""
    for name, value in context.items():
        if isinstance(value, str) and 'role="heading"' in value:
            context[name] = value.replace('role="heading">', 'role="heading" aria-level="2">')
