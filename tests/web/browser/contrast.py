"""How well the texts of a page can be read: the contrast of each with what is really behind it, as WCAG counts it."""

from __future__ import annotations

from typing import Literal

from tests.web.browser.needs import Page, expect

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

# Colours are asked of a canvas, which understands whatever a style sheet may say. A ground that is half transparent
# is laid over the one behind it; what fades an element fades its text. Without those that cannot be used (disabled)
# and those that nobody sees.
TOO_FAINT = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const remembered = (work) => {
    const known = new Map();
    return (key) => known.get(key) ?? known.set(key, work(key)).get(key);
  };
  const rgba = remembered((colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return { r, g, b, a: a / 255 };
  });
  const over = (top, below) =>
    Object.fromEntries(["r", "g", "b"].map((part) => [part, top[part] * top.a + below[part] * (1 - top.a)]));
  const luminance = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((left, right) => left - right);
    return (high + 0.05) / (low + 0.05);
  };
  const paper = document.body.appendChild(document.createElement("i"));
  paper.style.color = "Canvas"; // what a browser paints behind a page of this colour scheme
  const canvasColour = rgba(getComputedStyle(paper).color);
  paper.remove();
  const ground = remembered((element) => element
    ? { ...over(rgba(getComputedStyle(element).backgroundColor), ground(element.parentElement)), a: 1 }
    : canvasColour);
  const faded = remembered((element) =>
    element ? Number(getComputedStyle(element).opacity) * faded(element.parentElement) : 1);
  const isSeen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })
    && !element.closest(".unseen, .skip, :disabled, noscript");
  const measured = (element, text, style, opacity = 1) => {
    const behind = ground(element);
    const ink = rgba(element instanceof SVGElement ? style.fill : style.color);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const found = ratio(over({ ...ink, a: ink.a * opacity * faded(element) }, behind), behind);
    return { text: text.trim().slice(0, 40), where: element.className, found, isLarge };
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement: element } = walker.currentNode;
    if (data.trim() && isSeen(element)) texts.push(measured(element, data, getComputedStyle(element)));
  }
  for (const field of document.querySelectorAll("input[placeholder], textarea[placeholder]"))
    if (!field.value && isSeen(field)) {
      const style = getComputedStyle(field, "::placeholder");
      texts.push(measured(field, field.placeholder, style, Number(style.opacity)));
    }
  return [texts.length, texts.filter(({ found, isLarge }) => found < (isLarge ? 3 : 4.5))
    .map(({ text, where, found }) => `${found.toFixed(2)} ${JSON.stringify(text)} .${where}`)];
}"""


def turn(page: Page, theme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=theme)
    if page.locator("html[data-theme]").count():  # the page that asks for a link leaves it to the browser
        expect(page.locator("html")).to_have_attribute("data-theme", theme)


def too_faint(page: Page) -> list[str]:
    """The texts that are hard to read, with their contrast."""
    count, faint = page.evaluate(TOO_FAINT)
    assert count > 5, "there are no texts"
    return list(faint)
