import { build } from 'esbuild'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

// Commands start within milliseconds, so what every command needs is one CommonJS file with V8's cache of it (ES modules take
// longer to load, the more files the longer). What few commands need stands beside it, loaded on demand: name -> source.
const onDemand = { serve: 'daemon/main.ts', offline: 'daemon/offline.ts', watch: 'cli/watch.ts', ui: 'cli/ui/main.ts', conf: 'conf', undici: 'src/client/undici.ts' }
// What stays outside of the bundles has native parts, or finds files beside itself.
const external = ['libsql', '@libsql/*', '@node-rs/argon2', 'jq-wasm']
const shared = {
  bundle: true, platform: 'node', target: 'node20.19', jsx: 'automatic', external, define: { 'process.env.NODE_ENV': '"production"' },
  minifySyntax: true, minifyWhitespace: true, legalComments: 'none', logLevel: 'warning', metafile: true,
}

/**
 * What is imported and never used: ink's developer tools, and what the listener has for certificates of its own making,
 * tunnels and the clipboard, and what pino has for other threads, which takes a sixth of the server's start to load.
 */
const withoutUnused = {
  name: 'without-unused',
  setup(bundler) {
    bundler.onResolve({ filter: /^(react-devtools-core|node-forge|untun|tinyclip|jiti|thread-stream)$/ }, ({ path }) => ({ path, namespace: 'nothing' }))
    bundler.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'export default {}' }))
  },
}

/**
 * Parts of ink that cost 50 ms as soon as they are imported: the layout reads its WebAssembly, which is in its source, through
 * fetch, for which Node loads an HTTP client; and tables of signs are made that only texts beyond ASCII need.
 */
const slowToImport = [
  [/yoga-wasm-base64-esm\.js$/, '"function"!=typeof fetch', 'true'],
  [/string-width\/index\.js$/, 'const segmenter = new Intl.Segmenter()', 'let madeSegmenter; const segmenter = { segment: text => (madeSegmenter ??= new Intl.Segmenter()).segment(text) }'],
  [/string-width\/index\.js$/, 'const rgiEmojiRegex = /^\\p{RGI_Emoji}$/v', 'let madeRegex; const rgiEmojiRegex = { test: text => (madeRegex ??= /^\\p{RGI_Emoji}$/v).test(text) }'],
]
const quickToImport = {
  name: 'quick-to-import',
  setup(bundler) {
    bundler.onLoad({ filter: /yoga-wasm-base64-esm\.js$|string-width\/index\.js$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8')
      return { contents: slowToImport.reduce((text, [file, slow, quick]) => file.test(path) ? text.replace(slow, quick) : text, source) }
    })
  },
}

const loadedOnDemand = {
  name: 'loaded-on-demand',
  setup(bundler) {
    bundler.onResolve({ filter: /.*/ }, ({ path, kind, resolveDir }) => {
      const wanted = path.startsWith('.') ? relative('.', join(resolveDir, path)) : path
      const name = kind === 'dynamic-import' && Object.keys(onDemand).find(each => join(onDemand[each]) === wanted)
      return name ? { path: `./${name}.js`, external: true } : undefined
    })
  },
}

/** Parts of Node that few commands use are loaded when something of them is first used, not when it is imported. */
const lazyBuiltins = {
  name: 'lazy-builtins',
  setup(bundler) {
    bundler.onResolve({ filter: /^node:(child_process|readline|(fs|stream|timers)\/promises)$/ }, ({ path, namespace }) => namespace === 'lazy' ? { path, external: true } : { path, namespace: 'lazy' })
    bundler.onLoad({ filter: /.*/, namespace: 'lazy' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter(name => name !== 'default')
      return { contents: `module.exports = { ${names.map(name => `get ${name}() { return require('${path}').${name} }`).join(', ')} }` }
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
      const names = Object.entries(await import('valibot')).filter(([name, value]) => typeof value === 'function' && /^[a-z]\w*$/.test(name)).map(([name]) => name)
      const kinds = { pipe: 'first => first', forward: 'first => first', picklist: 'options => ({ options })' }
      const validating = /^(safe)?pars(e|er)(Async)?$|^(is|assert)$/
      const outline = name => Object.hasOwn(kinds, name) ? kinds[name] : (validating.test(name) ? '() => { throw new Error("A client validates nothing.") }' : 'entries => ({ entries })')
      return { contents: names.map(name => `const ${name}_ = ${outline(name)}; export { ${name}_ as ${name} }`).join('\n') }
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
      const { outputFiles } = await build({ ...shared, entryPoints: [path], format: 'esm', write: false, metafile: false })
      const { contract } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
      const namesOf = schema => schema && { entries: Object.fromEntries(Object.keys(schema.entries ?? {}).map(name => [name, {}])) }
      const rowOf = ({ method, path, transfer, query, input }) => ({ method, path, transfer, query, input: namesOf(input) })
      const mapped = (object, map) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]))
      const rows = JSON.stringify(mapped(contract, resource => mapped(resource, rowOf)))
      return { contents: `export const contract = JSON.parse(${JSON.stringify(rows)})` }
    })
  },
}

// As deep in the tree as the commands' sources are, for what they find beside them.
const main = 'dist/cli/main.cjs'
const startedAtMs = performance.now()
const built = await Promise.all([
  build({
    ...shared, entryPoints: ['cli/main.ts'], outfile: main, write: false, format: 'cjs', plugins: [loadedOnDemand, lazyBuiltins, withoutValidation, contractAsData],
    minifyIdentifiers: true, define: { ...shared.define, 'import.meta.url': 'boardUrl' },
    banner: { js: "(function(exports,require,module,__filename,__dirname,boardImport){const boardUrl=require('node:url').pathToFileURL(__filename).href;" }, footer: { js: '})' },
  }),
  build({
    ...shared, entryPoints: onDemand, outdir: dirname(main), chunkNames: 'chunks/[name]-[hash]', splitting: true, format: 'esm', plugins: [withoutUnused, quickToImport],
    // CommonJS packages in the bundle call require, which a module does not have.
    banner: { js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);" },
  }),
])

// bin/board.js gives the program a function instead of import().
writeFileSync(main, built[0].outputFiles[0].text.replace(/\bimport\((?="[\w./:-]+"\))/g, 'boardImport('))

// V8's cache holds what has been compiled so far, so it is taken from a process that has listed cards, here those of a server
// whose every list has one row.
const row = { id: '1', name: 'name', title: 'title', path: '/', status: 'idle', columnId: '1', labels: [], updatedAt: new Date(0).toISOString() }
const server = createServer((_request, response) => response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: [row] })))
await once(server.listen(0, '127.0.0.1'), 'listening')
const takeCache = `const script = require('./bin/board.js'); process.on('exit', () => require('fs').writeFileSync('${main}.cache', script.createCachedData()))`
const child = spawn(process.execPath, ['-e', takeCache, 'board', 'cards', 'list', '-P', '1', '--url', `http://127.0.0.1:${server.address().port}`], { stdio: 'ignore', env: { HOME: join(tmpdir(), 'no-such-folder') } })
await once(child, 'exit')
server.close()

// What an older build left is removed last, so that a program that runs meanwhile finds its parts.
const written = new Set([...built.flatMap(({ metafile }) => Object.keys(metafile.outputs)), `${main}.cache`].map(path => join(path)))
for (const entry of readdirSync('dist', { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
  if (entry.isFile() && !written.has(path)) rmSync(path)
}
console.log(`Built dist in ${Math.round(performance.now() - startedAtMs)} ms.`)
