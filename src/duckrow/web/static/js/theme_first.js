// Sets the theme before anything is drawn. Not a module: modules run too late, and the page would flash.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    let chosen = null;
    try {
      chosen = localStorage.getItem("duckrow.theme");
    } catch {
      // A browser without storage follows the system.
    }
    const theme = chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light";
    document.documentElement.dataset.theme = theme;
  };
  apply();
  system.addEventListener("change", apply);
  document.addEventListener("duckrow-theme", apply);
})();
