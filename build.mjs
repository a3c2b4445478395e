import { build } from 'esbuild'
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

// Commands start within milliseconds, so what every command needs is one CommonJS file with V8's cache of it (ES modules take
// longer to load, the more files the longer). What few commands need stands beside it, loaded on demand: name -> source.
const onDemand = { serve: 'daemon/main.ts', watch: 'cli/watch.ts', conf: 'conf', undici: 'src/client/undici.ts' }
// What stays outside of the bundles has native parts, or finds files beside itself.
const external = ['libsql', '@libsql/*', '@node-rs/argon2', 'listhen', 'jq-wasm']
const shared = {
  bundle: true, platform: 'node', target: 'node20.19', jsx: 'automatic', external, define: { 'process.env.NODE_ENV': '"production"' },
  minifySyntax: true, minifyWhitespace: true, legalComments: 'none', logLevel: 'warning', metafile: true,
}

/** Ink asks for its developer tools by a conditional import that never happens in production. */
const withoutDevtools = {
  name: 'without-devtools',
  setup(bundler) {
    bundler.onResolve({ filter: /^react-devtools-core$/ }, ({ path }) => ({ path, namespace: 'nothing' }))
    bundler.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'export default {}' }))
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

/** Commander loads child_process for something that is not used here. */
const withoutChildProcess = {
  name: 'without-child-process',
  setup(bundler) {
    bundler.onResolve({ filter: /^node:child_process$/ }, ({ path, importer }) => /[\\/]commander[\\/]/.test(importer) ? { path, namespace: 'lazy' } : undefined)
    bundler.onLoad({ filter: /.*/, namespace: 'lazy' }, () => ({ contents: 'module.exports = {}' }))
  },
}

/** A client needs the contract's methods and paths, not the schemas, which take milliseconds to make. */
const contractAsRows = async () => {
  const { outputFiles } = await build({ ...shared, entryPoints: ['src/contract/index.ts'], format: 'esm', write: false })
  const { contract } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
  const slim = ({ method, path, status, transfer, input }) => ({ method, path, status, transfer, ...(input && { input: { entries: Object.fromEntries(Object.keys(input.entries ?? {}).map(key => [key, {}])) } }) })
  const rows = Object.fromEntries(Object.entries(contract).map(([resource, routes]) => [resource, Object.fromEntries(Object.entries(routes).map(([name, route]) => [name, slim(route)]))]))
  return {
    name: 'contract-as-rows',
    setup(bundler) { bundler.onLoad({ filter: /[\\/]src[\\/]contract[\\/]index\.ts$/ }, () => ({ contents: `export const contract = ${JSON.stringify(rows)}` })) },
  }
}

// As deep in the tree as the commands' sources are, for what they find beside them.
const main = 'dist/cli/main.cjs'
const startedAtMs = performance.now()
const built = await Promise.all([
  build({
    ...shared, entryPoints: ['cli/main.ts'], outfile: main, write: false, format: 'cjs', plugins: [loadedOnDemand, withoutChildProcess, await contractAsRows()],
    define: { ...shared.define, 'import.meta.url': 'boardUrl' }, banner: { js: "const boardUrl=require('node:url').pathToFileURL(__filename).href;" },
  }),
  build({
    ...shared, entryPoints: onDemand, outdir: dirname(main), chunkNames: 'chunks/[name]-[hash]', splitting: true, format: 'esm', plugins: [withoutDevtools],
    // CommonJS packages in the bundle call require, which a module does not have.
    banner: { js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);" },
  }),
])

// bin/board.js gives the program a function instead of import().
writeFileSync(main, built[0].outputFiles[0].text.replace(/\bimport\((?="[\w./:-]+"\))/g, 'boardImport('))

// V8's cache holds what has been compiled so far, so it is taken from a process that has run a command.
const warmUp = `const script = require('./bin/board.js'); process.on('exit', () => require('fs').writeFileSync('${main}.cache', script.createCachedData()))`
spawnSync(process.execPath, ['-e', warmUp, 'board', 'projects', 'list', '--url', 'http://127.0.0.1:1'], { stdio: 'ignore', env: { HOME: join(tmpdir(), 'no-such-folder') } })

// What an older build left is removed last, so that a program that runs meanwhile finds its parts.
const written = new Set([...built.flatMap(({ metafile }) => Object.keys(metafile.outputs)), `${main}.cache`].map(path => join(path)))
for (const entry of readdirSync('dist', { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name)
  if (entry.isFile() && !written.has(path)) rmSync(path)
}
console.log(`Built dist in ${Math.round(performance.now() - startedAtMs)} ms.`)
