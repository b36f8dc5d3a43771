// What a page must keep, looked at from within it; tests/browser/inspection.py runs these in the page.
({
  // Elements that stick out to the right, but for those inside something that scrolls.
  overflow() {
    const width = document.documentElement.clientWidth;
    const wide = document.documentElement.scrollWidth - width;
    if (wide <= 0) return [];
    const scrolls = (element) => {
      for (let at = element.parentElement; at; at = at.parentElement)
        if (["auto", "scroll", "hidden"].includes(getComputedStyle(at).overflowX)) return true;
      return false;
    };
    return [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > width + 0.5 && !scrolls(element))
      .map((element) => element.outerHTML.slice(0, 120));
  },

  // What stands in for scripts is not there beside them.
  standIns() {
    return [...document.querySelectorAll(".scripted .only-without-script")]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }))
      .map((element) => element.outerHTML.slice(0, 120));
  },

  // Everything that can be used or looked at has a name, headings follow one another, lists hold list items.
  names() {
    const wrong = [];
    const say = (what, element) => wrong.push(`${what}: ${element.outerHTML.slice(0, 140)}`);
    const visible = (element) => element.checkVisibility({ visibilityProperty: true });
    const text = (element) => (element.getAttribute("aria-label") ?? element.textContent ?? "").trim()
      || [...element.querySelectorAll("title, [aria-label]")].map((one) => one.textContent || one.ariaLabel).join("").trim();
    for (const element of document.querySelectorAll("a[href], button, summary, [role=button]"))
      if (visible(element) && !text(element)) say("no name", element);
    for (const element of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
      if (!element.labels?.length && !element.ariaLabel) say("no label", element);
    for (const element of document.querySelectorAll("progress, [role=slider], [role=img], [role=group], nav, [role=region]"))
      if (!element.ariaLabel && !element.getAttribute("aria-labelledby") && !element.labels?.length) say("no label", element);
    for (const element of document.querySelectorAll("img:not([alt]), svg:not([aria-hidden]):not([role])")) say("no alternative", element);
    for (const element of document.querySelectorAll("[aria-labelledby], [aria-describedby], label[for]")) {
      const ids = ["aria-labelledby", "aria-describedby", "for"].flatMap((name) => (element.getAttribute(name) ?? "").split(" "));
      for (const id of ids) if (id && !document.getElementById(id)) say(`names #${id}, which is not there`, element);
    }
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    for (const id of ids.filter((one, place) => ids.indexOf(one) !== place)) wrong.push(`id ${id} stands twice`);
    if (document.querySelectorAll("h1").length !== 1) wrong.push("a page has one first heading");
    if (document.querySelectorAll("main").length !== 1) wrong.push("a page has one main");
    let level = 0;
    for (const heading of document.querySelectorAll("main h1, main h2, main h3, main h4")) {
      const next = Number(heading.tagName[1]);
      if (level && next > level + 1) say(`level ${next} after ${level}`, heading);
      level = next;
    }
    for (const table of document.querySelectorAll("main table")) if (!table.querySelector("th")) say("no headers", table);
    for (const list of document.querySelectorAll("ul, ol"))
      for (const child of list.children) if (!["LI", "TEMPLATE", "SCRIPT"].includes(child.tagName)) say("not a list item", child);
    for (const list of document.querySelectorAll("dl"))
      for (const child of list.children) if (!["DT", "DD", "DIV"].includes(child.tagName)) say("not in a dl", child);
    return wrong;
  },

  // Contrast of every visible run of text with what lies behind it, as painted.
  contrast() {
    const parse = (colour) => {
      const canvas = parse.canvas ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      return [red, green, blue, alpha / 255];
    };
    const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
    const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
      .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
    const behind = (element) => {
      const layers = [];
      for (let at = element; at; at = at.parentElement) {
        const colour = parse(getComputedStyle(at).backgroundColor);
        if (colour[3]) layers.push(colour);
        if (colour[3] === 1) break;
      }
      return layers.reduceRight((under, layer) => over(layer, under), [255, 255, 255, 1]);
    };
    const wrong = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      if (element.closest("title, script, option, .visually-hidden, [disabled], [aria-disabled=true]")) continue;
      const style = getComputedStyle(element);
      const ground = element.closest("svg")?.querySelector(":scope *") ? behind(element.closest("svg")) : behind(element);
      if (element.closest(".graph-svg .mark")) continue;
      const ink = over(parse(element.closest("svg") ? style.fill : style.color), ground);
      const [low, high] = [light(ink), light(ground)].sort((one, other) => one - other);
      const size = parseFloat(style.fontSize);
      const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
      const ratio = (high + 0.05) / (low + 0.05);
      if (ratio < least) wrong.push(`${ratio.toFixed(2)} for “${walker.currentNode.textContent.trim().slice(0, 40)}” in ${element.outerHTML.slice(0, 80)}`);
    }
    return [...new Set(wrong)];
  },
})
