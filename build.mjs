import { build } from 'esbuild'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

// Commands start within milliseconds, so the program is CommonJS with V8's cache of it (ES modules take longer to load, the more
// files the longer) in three files: `main.cjs` with what every command needs and those that are run most often, `rest.cjs` with
// the other commands, and `serve.cjs`, the server. What few commands need stands beside them, loaded on demand: name -> source.
const often = [
  'cli/commands/cards.ts',
  'cli/commands/cards-list.ts',
  'cli/commands/cards-view.ts',
  'cli/completion.ts',
  'cli/completionValues.ts',
]
const server = 'daemon/main.ts'
const onDemand = {
  offline: 'daemon/offline.ts',
  watch: 'cli/watch.ts',
  ui: 'cli/ui/main.ts',
  conf: 'conf',
  undici: 'src/client/undici.ts',
  execa: 'execa',
  'markdown-it': 'markdown-it',
  'file-type': 'file-type',
  'openid-client': 'openid-client',
}
// What stays outside of the bundles has native parts, or finds files beside itself.
const external = ['libsql', '@libsql/*', '@node-rs/argon2', 'jq-wasm']
const shared = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  jsx: 'automatic',
  external,
  define: { 'process.env.NODE_ENV': '"production"' },
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
}

/**
 * What is imported and never used: ink's developer tools, and what the listener has for certificates of its own making,
 * tunnels and the clipboard, and what pino has for other threads, which takes a sixth of the server's start to load.
 */
const withoutUnused = {
  name: 'without-unused',
  setup(bundler) {
    bundler.onResolve(
      { filter: /^(react-devtools-core|node-forge|untun|tinyclip|jiti|thread-stream)$/ },
      ({ path }) => ({ path, namespace: 'nothing' }),
    )
    bundler.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'export default {}' }))
  },
}

/**
 * Parts of ink that cost 50 ms as soon as they are imported: the layout reads its WebAssembly, which is in its source, through
 * fetch, for which Node loads an HTTP client; and tables of signs are made that only texts beyond ASCII need.
 */
const slowToImport = [
  [/yoga-wasm-base64-esm\.js$/, '"function"!=typeof fetch', 'true'],
  [
    /string-width\/index\.js$/,
    'const segmenter = new Intl.Segmenter()',
    'let madeSegmenter; const segmenter = { segment: text => (madeSegmenter ??= new Intl.Segmenter()).segment(text) }',
  ],
  [
    /string-width\/index\.js$/,
    'const rgiEmojiRegex = /^\\p{RGI_Emoji}$/v',
    'let madeRegex; const rgiEmojiRegex = { test: text => (madeRegex ??= /^\\p{RGI_Emoji}$/v).test(text) }',
  ],
]
const quickToImport = {
  name: 'quick-to-import',
  setup(bundler) {
    bundler.onLoad({ filter: /yoga-wasm-base64-esm\.js$|string-width\/index\.js$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8')
      return {
        contents: slowToImport.reduce(
          (text, [file, slow, quick]) => (file.test(path) ? text.replace(slow, quick) : text),
          source,
        ),
      }
    })
  },
}

const loadedOnDemand = {
  name: 'loaded-on-demand',
  setup(bundler) {
    bundler.onResolve({ filter: /.*/ }, ({ path, kind, resolveDir }) => {
      const wanted = path.startsWith('.') ? relative('.', join(resolveDir, path)) : path
      if (kind !== 'dynamic-import') return undefined
      if (join(server) === wanted) return { path: './serve.cjs', external: true }
      const name = Object.keys(onDemand).find(each => join(onDemand[each]) === wanted)
      return name ? { path: `./${name}.js`, external: true } : undefined
    })
  },
}

/** Of the package, the server uses the limiter in memory; with those for a dozen databases it takes longer to load than what it is for. */
const onlyLimiterInMemory = {
  name: 'only-limiter-in-memory',
  setup(bundler) {
    bundler.onResolve({ filter: /^rate-limiter-flexible$/ }, ({ path, kind, resolveDir }) =>
      kind === 'import-statement' ? { path, namespace: 'limiter', pluginData: resolveDir } : undefined,
    )
    bundler.onLoad({ filter: /.*/, namespace: 'limiter' }, ({ path, pluginData }) => ({
      contents: `export { default as RateLimiterMemory } from '${path}/lib/RateLimiterMemory.js'`,
      resolveDir: pluginData,
    }))
  },
}

/** Parts of Node that few commands use are loaded when something of them is first used, not when it is imported. */
const lazyBuiltins = {
  name: 'lazy-builtins',
  setup(bundler) {
    bundler.onResolve(
      { filter: /^node:(child_process|readline|(fs|stream|timers)\/promises)$/ },
      ({ path, namespace }) => (namespace === 'lazy' ? { path, external: true } : { path, namespace: 'lazy' }),
    )
    bundler.onLoad({ filter: /.*/, namespace: 'lazy' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter(name => name !== 'default')
      return {
        contents: `module.exports = { ${names.map(name => `get ${name}() { return require('${path}').${name} }`).join(', ')} }`,
      }
    })
  },
}

/**
 * A client reads the contract's paths, names and choices and validates nothing, so its schemas need not be made, which takes
 * milliseconds: each keeps only its entries and options.
 */
const withoutValidation = {
  name: 'without-validation',
  setup(bundler) {
    bundler.onResolve({ filter: /^valibot$/ }, ({ path }) => ({ path, namespace: 'outlines' }))
    bundler.onLoad({ filter: /.*/, namespace: 'outlines' }, async () => {
      const names = Object.entries(await import('valibot'))
        .filter(([name, value]) => typeof value === 'function' && /^[a-z]\w*$/.test(name))
        .map(([name]) => name)
      const kinds = { pipe: 'first => first', forward: 'first => first', picklist: 'options => ({ options })' }
      const validating = /^(safe)?pars(e|er)(Async)?$|^(is|assert)$/
      const outline = name =>
        Object.hasOwn(kinds, name)
          ? kinds[name]
          : validating.test(name)
            ? '() => { throw new Error("A client validates nothing.") }'
            : 'entries => ({ entries })'
      return {
        contents: names.map(name => `const ${name}_ = ${outline(name)}; export { ${name}_ as ${name} }`).join('\n'),
      }
    })
  },
}

/**
 * Of the contract a client needs where each route is, how it is sent and the names of its fields, which is there sooner as data
 * than by making every row.
 */
const contractAsData = {
  name: 'contract-as-data',
  setup(bundler) {
    bundler.onLoad({ filter: /src[\\/]contract[\\/]index\.ts$/ }, async ({ path }) => {
      const { outputFiles } = await build({
        ...shared,
        entryPoints: [path],
        format: 'esm',
        write: false,
        metafile: false,
      })
      const { contract } = await import(
        `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
      )
      const namesOf = schema =>
        schema && { entries: Object.fromEntries(Object.keys(schema.entries ?? {}).map(name => [name, {}])) }
      const rowOf = ({ method, path, transfer, query, input }) => ({
        method,
        path,
        transfer,
        query,
        input: namesOf(input),
      })
      const mapped = (object, map) =>
        Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]))
      const rows = mapped(contract, resource => JSON.stringify(mapped(resource, rowOf)))
      return {
        contents: `const rows = ${JSON.stringify(rows)}, made = {}; export const contract = { ${Object.keys(rows)
          .map(name => `get ${name}() { return made.${name} ??= JSON.parse(rows.${name}) }`)
          .join(', ')} }`,
      }
    })
  },
}

/** Imports of what is not needed often are put into the other file; `asked` collects them. */
const leavesTheRest = asked => ({
  name: 'leaves-the-rest',
  setup(bundler) {
    bundler.onResolve({ filter: /^\./ }, ({ path, kind, resolveDir }) => {
      const wanted = relative('.', join(resolveDir, path))
      return kind === 'dynamic-import' && !often.includes(wanted) ? { path: wanted, namespace: 'rest' } : undefined
    })
    bundler.onLoad({ filter: /.*/, namespace: 'rest' }, ({ path }) => {
      asked.add(path)
      return { contents: `module.exports = boardOther(${JSON.stringify(path)})` }
    })
  },
})

/** What the main file has is taken from there, so that no module is there twice; `asked` collects it. */
const takesFromMain = (inputs, asked) => ({
  name: 'takes-from-main',
  setup(bundler) {
    bundler.onResolve({ filter: /.*/, namespace: 'file' }, async ({ path, kind, resolveDir, pluginData }) => {
      if (pluginData === 'resolving' || kind === 'entry-point') return undefined
      const resolved = relative('.', (await bundler.resolve(path, { kind, resolveDir, pluginData: 'resolving' })).path)
      // Behind a path that ends in .mjs nothing but an ES module may stand.
      return inputs.has(resolved) ? { path: `${resolved}.cjs`, namespace: 'main', pluginData: resolved } : undefined
    })
    bundler.onLoad({ filter: /.*/, namespace: 'main' }, ({ pluginData }) => {
      asked.add(pluginData)
      return { contents: `module.exports = boardOther(${JSON.stringify(pluginData)})` }
    })
  },
})

/** One of the two files of commands: a function that bin/board.js calls, whose exports are functions that load the modules by their paths. */
const buildPart = (outfile, modules, plugins, start = '') =>
  build({
    ...shared,
    outfile,
    write: false,
    format: 'cjs',
    minifyIdentifiers: true,
    define: { ...shared.define, 'import.meta.url': 'boardUrl' },
    stdin: {
      resolveDir: '.',
      contents: `module.exports = { ${[...modules].map(path => `${JSON.stringify(path)}: () => require(${JSON.stringify(`./${path}`)})`).join(', ')} }\n${start}`,
    },
    plugins: [loadedOnDemand, ...plugins, lazyBuiltins, withoutValidation, contractAsData],
    banner: {
      js: `(function(exports,require,module,__filename,__dirname,boardImport,boardOther){${start ? '' : 'const boardUrl=require("node:url").pathToFileURL(__filename).href;'}`,
    },
    footer: { js: '})' },
  })

/** The server, a function that bin/board.js calls. */
const buildServer = outfile =>
  build({
    ...shared,
    entryPoints: [server],
    outfile,
    write: false,
    format: 'cjs',
    define: { ...shared.define, 'import.meta.url': 'boardUrl' },
    plugins: [loadedOnDemand, withoutUnused, onlyLimiterInMemory],
    banner: {
      js: '(function(exports,require,module,__filename,__dirname,boardImport){const boardUrl=require("node:url").pathToFileURL(__filename).href;',
    },
    footer: { js: '})' },
  })

/** bin/board.js gives each file a function instead of import(). */
const leave = ({ outputFiles: [{ path, text }] }) =>
  writeFileSync(path, text.replace(/\bimport\((?="[\w./:@-]+"\))/g, 'boardImport('))

// As deep in the tree as the commands' sources are, for what they find beside them.
const files = ['main', 'rest', 'serve'].map(name => `dist/cli/${name}.cjs`)
const [main, rest, serve] = files
/** What a server sets otherwise as soon as it has started. V8 takes a cache only under the flags under which it was made. */
const flagsAtStart = ['--heap-growing-percent=0', '--semi-space-growth-factor=2']
const startedAtMs = performance.now()

async function buildProgram() {
  const [asked, taken] = [new Set(), new Set()]
  const start = 'require("./cli/main.ts")'
  const { metafile } = await buildPart(main, [], [leavesTheRest(asked)], start)
  leave(await buildPart(rest, asked, [takesFromMain(new Set(Object.keys(metafile.inputs)), taken)]))
  leave(await buildPart(main, taken, [leavesTheRest(asked)], start))
}

mkdirSync(dirname(main), { recursive: true })
// V8 takes any cache of a source that is as long.
for (const file of files) rmSync(`${file}.cache`, { force: true })
const [, , parts] = await Promise.all([
  buildProgram(),
  buildServer(serve).then(leave),
  build({
    ...shared,
    entryPoints: onDemand,
    outdir: dirname(main),
    chunkNames: 'chunks/[name]-[hash]',
    splitting: true,
    format: 'esm',
    plugins: [withoutUnused, quickToImport],
    // CommonJS packages in the bundle call require, which a module does not have.
    banner: {
      js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);",
    },
  }),
])
const folder = mkdtempSync(join(tmpdir(), 'board-build-'))
try {
  await takeCachesOfCommands()
  await takeCacheOfServer()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

// What an older build left is removed last, so that a program that runs meanwhile finds its parts.
const written = new Set(
  [...Object.keys(parts.metafile.outputs), ...files, ...files.map(file => `${file}.cache`)].map(path => join(path)),
)
for (const entry of readdirSync('dist', { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
  if (entry.isFile() && !written.has(path)) rmSync(path)
}
console.log(`Built dist in ${Math.round(performance.now() - startedAtMs)} ms.`)

/** V8's cache holds what has been compiled so far, so it is taken from processes that have run commands, here against a server whose every list has one row. */
async function takeCachesOfCommands() {
  const row = {
    id: '1',
    name: 'name',
    title: 'title',
    path: '/',
    status: 'idle',
    columnId: '1',
    labels: [],
    updatedAt: new Date(0).toISOString(),
  }
  const lister = createServer((_request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: [row] })),
  )
  await once(lister.listen(0, '127.0.0.1'), 'listening')
  for (const words of [
    ['cards', 'list'],
    ['__complete', '--', 'cards', 'view', ''],
    ['projects', 'list'],
  ]) {
    await once(
      runFor([main, rest], words, { BOARD_PROJECT: '1', BOARD_URL: `http://127.0.0.1:${lister.address().port}` }),
      'exit',
    )
  }
  lister.close()
}

/** The same of a server that has answered. */
async function takeCacheOfServer() {
  const running = runFor([serve], ['serve', '--port', '0', '--data-dir', join(folder, 'data')])
  running.stdout.once('data', async line => {
    const url = String(line).trim().split(' ').pop()
    for (const path of ['/api/health', '/api/projects'])
      await fetch(url + path).then(
        reply => reply.text(),
        () => {
          /* It starts slower then. */
        },
      )
    running.kill()
  })
  await once(running, 'exit')
}

/** Runs the built program, and has it leave the caches of some of its files. */
function runFor(files, words, env = {}) {
  const take = `const scripts = require('./bin/board.js'); process.on('exit', () => { for (const flag of ${JSON.stringify(flagsAtStart)}) require('v8').setFlagsFromString(flag); for (const [file, script] of scripts) if (${JSON.stringify(files)}.some(each => file === require('path').resolve(each))) require('fs').writeFileSync(file + '.cache', script.createCachedData()) })`
  return spawn(process.execPath, ['-e', take, 'board', ...words], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { HOME: folder, ...env },
  })
}
