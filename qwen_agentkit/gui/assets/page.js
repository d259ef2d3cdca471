// What the page does by itself: the theme, the drawer with a cited source, the names after an @.
(() => {
  const isChinese = navigator.language.toLowerCase().startsWith("zh");
  const themeKey = "qwen-agentkit-theme";

  // ---- theme: the system's, until it is chosen
  const isDark = () => document.body.classList.contains("dark");
  const setTheme = (dark) => {
    document.body.classList.toggle("dark", dark);
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
    const frame = document.querySelector("#qak-drawer.open iframe");
    if (frame && frame.dataset.href) frame.src = withTheme(frame.dataset.href);
  };
  window.qakToggleTheme = () => {
    localStorage.setItem(themeKey, isDark() ? "light" : "dark");
    setTheme(!isDark());
  };
  const applyChosenTheme = () => {
    const chosen = localStorage.getItem(themeKey);
    if (chosen && (chosen === "dark") !== isDark()) setTheme(chosen === "dark");
  };

  // ---- the cited source
  const withTheme = (href) => {
    const url = new URL(href, document.baseURI);
    if (isDark()) url.searchParams.set("theme", "dark");
    else url.searchParams.delete("theme");
    return url.href;
  };
  const drawer = () => {
    let aside = document.getElementById("qak-drawer");
    if (aside) return aside;
    aside = document.createElement("aside");
    aside.id = "qak-drawer";
    const close = document.createElement("button");
    close.textContent = "✕";
    close.setAttribute("aria-label", isChinese ? "关闭" : "Close");
    close.addEventListener("click", closeDrawer);
    const frame = document.createElement("iframe");
    frame.title = isChinese ? "来源" : "Source";
    aside.append(close, frame);
    document.body.append(aside);
    return aside;
  };
  const openDrawer = (href) => {
    const aside = drawer();
    const frame = aside.querySelector("iframe");
    frame.dataset.href = href;
    frame.src = withTheme(href);
    aside.classList.add("open");
    document.body.classList.add("qak-open");
    aside.querySelector("button").focus();
  };
  const closeDrawer = () => {
    const aside = document.getElementById("qak-drawer");
    if (!aside) return;
    aside.classList.remove("open");
    document.body.classList.remove("qak-open");
    aside.querySelector("iframe").src = "about:blank";
  };
  document.addEventListener(
    "click",
    (event) => {
      const link = event.target.closest && event.target.closest('a[href*="qak/source/"]');
      // With a key held down the link opens in a tab of its own, as links do.
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      openDrawer(link.href);
    },
    true,
  );

  // ---- names after an @
  const mentions = () => {
    const heading = document.querySelector(".qak-heading");
    return heading ? JSON.parse(heading.dataset.mentions || "[]") : [];
  };
  const menu = () => {
    let box = document.getElementById("qak-mentions");
    if (!box) {
      box = document.createElement("div");
      box.id = "qak-mentions";
      document.body.append(box);
    }
    return box;
  };
  const closeMenu = () => menu().classList.remove("open");
  const begun = (area) => {
    const match = /(?:^|[^A-Za-z0-9_])@([^\s@]*)$/.exec(area.value.slice(0, area.selectionStart));
    return match ? match[1] : null;
  };
  const insert = (area, name) => {
    const at = area.selectionStart;
    const start = at - begun(area).length;
    const value = `${area.value.slice(0, start)}${name} ${area.value.slice(at)}`;
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(area, value);
    area.setSelectionRange(start + name.length + 1, start + name.length + 1);
    area.dispatchEvent(new Event("input", { bubbles: true }));
    closeMenu();
    area.focus();
  };
  const offer = (area) => {
    const word = begun(area);
    const names =
      word === null ? [] : mentions().filter((name) => name.toLowerCase().startsWith(word.toLowerCase()));
    const box = menu();
    box.replaceChildren(
      ...names.map((name, place) => {
        const line = document.createElement("div");
        line.textContent = `@${name}`;
        line.className = place === 0 ? "chosen" : "";
        line.addEventListener("mousedown", (event) => {
          event.preventDefault();
          insert(area, name);
        });
        return line;
      }),
    );
    const place = area.getBoundingClientRect();
    box.style.left = `${place.left}px`;
    box.style.bottom = `${window.innerHeight - place.top + 6}px`;
    box.classList.toggle("open", names.length > 0 && names[0] !== word);
  };
  document.addEventListener("input", (event) => {
    if (event.target.matches("#qak-input textarea")) offer(event.target);
  });
  document.addEventListener("focusout", () => setTimeout(closeMenu, 150));
  document.addEventListener(
    "keydown",
    (event) => {
      const open = menu().classList.contains("open");
      if (event.key === "Escape" && open) closeMenu();
      else if (event.key === "Escape") closeDrawer();
      if (!open || !event.target.matches("#qak-input textarea")) return;
      const lines = [...menu().children];
      const at = lines.findIndex((line) => line.className === "chosen");
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const next = (at + (event.key === "ArrowDown" ? 1 : lines.length - 1)) % lines.length;
        lines.forEach((line, place) => (line.className = place === next ? "chosen" : ""));
      } else if (event.key === "Enter" || event.key === "Tab") {
        insert(event.target, lines[at].textContent.slice(1));
      } else return;
      event.preventDefault();
      event.stopPropagation();
    },
    true,
  );

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", applyChosenTheme);
  else applyChosenTheme();
  // Gradio sets its theme after the page has loaded.
  window.addEventListener("load", () => [0, 300, 1000].forEach((wait) => setTimeout(applyChosenTheme, wait)));
})();
