/** How the page's JavaScript is linted. Names and types are tsc's to check, so `no-undef` is not asked here. */

import js from "@eslint/js";

/** What would be a global of the page: written to from anywhere, and seen by whatever else runs there. */
const NO_GLOBALS = ["window", "globalThis", "self"].map((object) => ({
  selector: `AssignmentExpression > MemberExpression.left[object.name=${object}]`,
  message: "The page has no globals: export it from a module.",
}));

const RULES = {
  "no-undef": "off",
  "no-control-regex": "off", // logs are full of them
  "array-callback-return": "error",
  "consistent-return": "error",
  eqeqeq: "error",
  "no-eval": "error",
  "no-implicit-globals": "error",
  "no-implied-eval": "error",
  "no-new-func": "error",
  "no-promise-executor-return": "off",
  "no-restricted-syntax": ["error", ...NO_GLOBALS],
  "no-self-compare": "error",
  "no-shadow": "error",
  "no-template-curly-in-string": "error",
  "no-throw-literal": "error",
  "no-unmodified-loop-condition": "error",
  "no-unreachable-loop": "error",
  "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
  "no-useless-rename": "error",
  "no-var": "error",
  "object-shorthand": "error",
  "prefer-const": "error",
  "prefer-promise-reject-errors": "error",
  "require-atomic-updates": "error",
  "require-await": "error",
};

export default [
  js.configs.recommended,
  {
    files: ["src/duckrow/web/static/**/*.js"],
    languageOptions: { ecmaVersion: 2024, sourceType: "module" },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: RULES,
  },
  { files: ["**/theme_first.js"], languageOptions: { sourceType: "script" } },
];
