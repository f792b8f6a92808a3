"""Lists and forms have one frame each: what it draws is in no other template."""

from pathlib import Path

import pytest

import outkey

HOSTS = Path(outkey.__file__).parent / "hosts"
TEMPLATES = HOSTS / "django/templates/outkey"
PAGES = HOSTS / "django/pages"
DRAWN_ONCE = {
    'class="ok-pages"': "pager.html",
    'class="ok-bulk"': "bulk_bar.html",
    "aria-sort=": "sort_header.html",
    "block columns %}{% endblock": "list_page.html",
    'class="{% block form_class %}ok-form': "form_page.html",
}


@pytest.mark.parametrize(("markup", "template"), DRAWN_ONCE.items())
def test_a_part_of_a_frame_is_in_one_template(markup: str, template: str) -> None:
    having = [file.name for file in TEMPLATES.iterdir() if markup in file.read_text()]
    assert having == [template]


def test_the_size_of_a_page_is_in_one_module() -> None:
    having = [
        file.name for file in PAGES.rglob("*.py") if "\nPAGE_SIZE =" in file.read_text()
    ]
    assert having == ["lists.py"]


def test_every_template_is_used() -> None:
    used = "\n".join(
        file.read_text() for file in HOSTS.rglob("*") if file.suffix in {".html", ".py"}
    )
    unused = [
        file.name for file in TEMPLATES.iterdir() if f'"outkey/{file.name}"' not in used
    ]
    assert unused == []
