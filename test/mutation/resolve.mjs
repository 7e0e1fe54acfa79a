// The module hook of the runner's process: the tests get `suite.mjs` for vitest.

const suite = new URL('suite.mjs', import.meta.url).href

export const resolve = (specifier, context, next) =>
  specifier === 'vitest' ? { url: suite, shortCircuit: true } : next(specifier, context)
