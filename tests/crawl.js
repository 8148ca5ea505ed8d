// What a reader would complain about in the page that is open. tests/crawl.py puts it into every page before the page's own scripts.
window.crawl = {
  // The complaints under one width and one set of colours.
  async look(width, colours) {
    await crawl.settled(width, colours);
    const folded = crawl.folded();
    for (const moving of document.getAnimations()) if (moving.effect.getComputedTiming().endTime < Infinity) moving.finish();
    crawl.grounds = new Map(); // of this look
    crawl.opacities = new Map();
    return [folded, crawl.structure(), crawl.mathematics(), crawl.images(), crawl.width(), crawl.colours()].flat();
  },

  // Mathematics set, fonts and images there, width and colours in force and answered by the page's scripts.
  async settled(width, colours) {
    await window.MathJax?.startup?.promise;
    await document.fonts.ready;
    for (const image of document.images) image.loading = "eager";
    await Promise.all([...document.images].map(image => image.decode().catch(() => {})));
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
    do await frame();
    while (innerWidth !== width || !matchMedia(`(prefers-color-scheme: ${colours})`).matches);
    await frame(); // scripts of the page that hear of a new width in a frame answer at its end
  },

  // For the links between pages, which no page can judge alone. Those of the head serve browsers: they have to hold, but lead no reader.
  said() {
    const head = [...document.querySelectorAll("link[href]")].map(link => ({url: link.href}));
    const links = [...document.links].map(link => ({url: link.href, saved: link.getAttribute("download")}));
    const forms = [...document.forms].map(form => ({url: form.action}));
    const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
    const names = [...document.querySelectorAll("a[name]")].map(anchor => anchor.name);
    return {head, links: [...links, ...forms], anchors: [...ids, ...names]};
  },

  seen: {visibilityProperty: true, opacityProperty: true},

  main: () => document.querySelector("article, .bd-search-container") ?? document.body,

  named(element) {
    const name = element.id ? `#${element.id}` : [...element.classList].map(word => `.${word}`).join("");
    return element.localName + name;
  },

  structure() {
    const hosts = [...document.querySelectorAll("link[rel~=preconnect], link[rel~=dns-prefetch]")];
    const headings = [...document.querySelectorAll("h1")].filter(heading => heading.checkVisibility());
    return [
      headings.length !== 1 && `${headings.length} headings of the first level`,
      !document.documentElement.lang && "no language",
      !document.title.trim() && "no title",
      ...[...hosts.map(host => host.href), ...crawl.sockets].map(url => `request leaves: ${url}`),
    ].filter(Boolean);
  },

  mathematics() {
    const formulas = ".math, span.mathjax_process";
    const unset = [...document.querySelectorAll(formulas)].filter(formula => !formula.querySelector("mjx-container"));
    const wrong = [...document.querySelectorAll("mjx-merror, .problematic")];
    const said = element => element.textContent.trim().slice(0, 60);
    return [
      ...unset.map(formula => `formula not set: ${said(formula)}`),
      ...wrong.map(formula => `formula in error: ${said(formula)}`),
      ...crawl.texts(document.body).filter(text => !text.parentElement.closest(`${formulas}, code, pre`))
        .map(text => text.data.match(/\$[^$]+\$|\\[([\])]|\\[a-zA-Z]{2,}/)?.[0]).filter(Boolean).map(found => `TeX shown as text: ${found}`),
    ];
  },

  // Text that is seen. Formulas are set by MathJax from shapes and carry a hidden copy for screen readers: not text in this sense.
  texts(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) {
      const text = walker.currentNode, parent = text.parentElement;
      if (text.data.trim() && parent.checkVisibility(crawl.seen) && !parent.closest("script, style, noscript, mjx-container")) found.push(text);
    }
    return found;
  },

  images() {
    const name = image => decodeURI(image.src).split("/").pop().slice(0, 60);
    return [...document.images].flatMap(image => [
      !image.alt.trim() && `image without alternative text: ${name(image)}`,
      /\.\w{3,4}$/.test(image.alt) && `alternative text is a file name: ${image.alt}`,
      !image.naturalWidth && `broken image: ${name(image)}`,
    ].filter(Boolean));
  },

  // What is folded opens by a click, shows something, and stays open, so that it is measured with the rest. Those of one depth are closed
  // and opened together: to measure one by one, the page would be laid out again for each. Meanwhile the page keeps what it finds in itself:
  // Bootstrap looks for each of its buttons in the whole page at every click, and a fold that opens adds no element.
  folded() {
    const depth = fold => { let deep = 0; for (let at = fold; at; at = at.parentElement) deep += at.localName === "details"; return deep; };
    const folds = Map.groupBy(document.querySelectorAll("details"), depth), shut = new Set(), found = new Map();
    document.querySelectorAll = css => {
      if (!found.has(css)) found.set(css, Document.prototype.querySelectorAll.call(document, css));
      return found.get(css);
    };
    for (const deep of [...folds.keys()].sort((one, other) => one - other)) {
      folds.get(deep).forEach(fold => { fold.open = false; });
      const closed = new Map(folds.get(deep).map(fold => [fold, fold.offsetHeight]));
      folds.get(deep).forEach(fold => fold.querySelector(":scope > summary")?.click());
      for (const fold of folds.get(deep)) {
        const seen = [...fold.children].some(child => child.localName !== "summary" && child.offsetHeight);
        if (!fold.open || !(seen || fold.offsetHeight > closed.get(fold))) shut.add(fold);
      }
    }
    delete document.querySelectorAll;
    return [...shut].map(fold => `does not open: ${crawl.named(fold)}`);
  },

  width() {
    const beyond = element => Math.round(element.getBoundingClientRect().right - innerWidth);
    const held = element => /auto|scroll/.test(getComputedStyle(element).overflowX) && beyond(element) < 2;
    const loose = element => { for (let at = element; at; at = at.parentElement) if (held(at)) return false; return true; };
    const seen = element => element.checkVisibility() && !element.closest("mjx-assistive-mml, .visually-hidden");
    const wide = [...crawl.main().querySelectorAll("*")].find(element => beyond(element) > 1 && seen(element) && loose(element));
    const page = document.documentElement.scrollWidth - innerWidth;
    return [
      wide && `${crawl.named(wide)} reaches ${beyond(wide)} pixels beyond the window`,
      page > 1 && `the page is ${page} pixels wider than the window`,
    ].filter(Boolean);
  },

  // Contrast as WCAG 2 defines it: 4.5 for text, 3 for large text. In the dark also: no bright page, sheet or frame.
  colours() {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const boxes = dark ? [...crawl.main().querySelectorAll("*")].filter(box => box.checkVisibility(crawl.seen)) : [];
    const faint = crawl.texts(document.body).filter(text => crawl.contrast(text.parentElement) < crawl.least(text.parentElement));
    return [
      ...faint.map(text => `text hard to read, contrast ${crawl.contrast(text.parentElement).toFixed(1)}: ${text.data.trim().slice(0, 60)}`),
      dark && crawl.luminance(crawl.behind(document.body)) > 0.2 && "bright in dark mode: the page",
      ...boxes.filter(crawl.bright).map(box => `bright in dark mode: ${crawl.named(box)}`),
    ].filter(Boolean);
  },

  // Words of a figure that cover each other or leave it, and scales that say the same twice in a row. Of slanted words only the box is known.
  words() {
    const plots = [...document.querySelectorAll(".ntp-figure svg")].filter(plot => plot.checkVisibility());
    return plots.flatMap(plot => {
      const turned = word => +(word.getAttribute("transform")?.match(/rotate\((-?[\d.]+)/)?.[1] ?? 0);
      const words = [...plot.querySelectorAll("text")].filter(word => word.textContent.trim() && turned(word) % 90 === 0);
      const placed = words.map(word => ({said: word.textContent.trim().slice(0, 40), box: word.getBoundingClientRect(), tick: word.parentElement.parentElement}));
      const frame = plot.getBoundingClientRect(), near = (x, y) => Math.abs(x - y) < 0.5;
      const leaves = ({box}) => Math.max(frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom) > 1.5;
      const covers = ({box: one}, {box: other}) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1
        && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > Math.min(one.height, other.height) / 4;
      const onScale = (one, other) => one.tick !== other.tick && one.tick.parentElement === other.tick.parentElement;
      const twice = (one, other) => other && one.said === other.said && onScale(one, other) && near(one.box.left, other.box.left) !== near(one.box.top, other.box.top);
      return [
        ...placed.filter(leaves).map(({said}) => `word leaves its figure: ${said}`),
        ...placed.flatMap((one, i) => placed.slice(i + 1).filter(other => covers(one, other)).map(other => `words cover each other: ${one.said} / ${other.said}`)),
        ...placed.filter((one, i) => twice(one, placed[i + 1])).map(({said}) => `scale says twice: ${said}`),
      ];
    });
  },

  least(element) {
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    return size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
  },

  contrast(element) {
    const behind = crawl.behind(element), [r, g, b, alpha] = crawl.rgba(getComputedStyle(element).color);
    return crawl.ratio(crawl.over([r, g, b, alpha * crawl.opacity(element)], behind), behind);
  },

  // With which opacity an element is painted.
  opacity(element) {
    if (!element) return 1;
    if (!crawl.opacities.has(element)) crawl.opacities.set(element, getComputedStyle(element).opacity * crawl.opacity(element.parentElement));
    return crawl.opacities.get(element);
  },

  bright(box) {
    const style = getComputedStyle(box), ground = crawl.rgba(style.backgroundColor), behind = crawl.behind(box);
    const frame = crawl.over(crawl.rgba(style.borderTopColor), behind);
    const framed = parseFloat(style.borderTopWidth) > 0 && style.borderTopStyle !== "none" && box.offsetWidth > 300;
    return (ground[3] > 0.5 && crawl.luminance(ground) > 0.2) || (framed && crawl.luminance(frame) > 0.2);
  },

  // The colour on which an element's content is painted.
  behind(element) {
    if (!element) return [255, 255, 255, 1];
    if (!crawl.grounds.has(element)) {
      const own = crawl.rgba(getComputedStyle(element).backgroundColor);
      crawl.grounds.set(element, own[3] === 1 ? own : crawl.over(own, crawl.behind(element.parentElement)));
    }
    return crawl.grounds.get(element);
  },

  over: ([r, g, b, alpha], under) => [...[r, g, b].map((value, i) => alpha * value + (1 - alpha) * under[i]), 1],

  ratio(one, other) {
    const [low, high] = [crawl.luminance(one), crawl.luminance(other)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  },

  luminance: rgb => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const value = rgb[i] / 255;
    return sum + weight * (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  }, 0),

  // Any CSS colour as red, green, blue to 255 and opacity to 1: a canvas knows all notations.
  rgba(colour) {
    crawl.known ??= new Map();
    if (!crawl.known.has(colour)) {
      const pen = new OffscreenCanvas(1, 1).getContext("2d");
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      crawl.known.set(colour, [r, g, b, a / 255]);
    }
    return crawl.known.get(colour);
  },
};

// A browser tells of a socket when it connects, which may be after its page was left: the page tells of its own.
crawl.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    crawl.sockets.push(this.url);
  }
};
