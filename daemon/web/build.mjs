/**
 * Makes the page of the board in the browser: what is large and not needed for the board is loaded when it is opened, each file has
 * a name that changes with what is in it, and is packed for who takes that (`daemon/files/pageFiles.ts` serves them).
 */
import { build as bundle } from 'esbuild'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'
import project from '../../package.json' with { type: 'json' }

/** Returns the sources that the page is made of, and the paths of what was written. */
export async function buildPage(outDir) {
  // Vite takes React's development build where this says anything else, as it does below a test run.
  process.env.NODE_ENV = 'production'
  const { output } = await build({
    configFile: false,
    root: import.meta.dirname,
    base: './',
    publicDir: false,
    logLevel: 'warn',
    define: { __REACT_DEVTOOLS_GLOBAL_HOOK__: 'undefined' },
    plugins: [forBrowsers, contractRows, webManifest],
    build: {
      outDir: resolve(outDir),
      emptyOutDir: false,
      target: ['chrome120', 'firefox121', 'safari17.2'],
      assetsInlineLimit: 0,
      cssCodeSplit: false,
      modulePreload: {
        polyfill: false,
        // The names of what each lazy part needs would be 1 kB of the first script.
        resolveDependencies: (_, paths, { hostType }) => (hostType === 'html' ? paths : []),
      },
      reportCompressedSize: false,
      // On a busy machine it would tell how long each plugin took.
      rolldownOptions: { checks: { bundlerTimings: false } },
    },
  })
  const paths = output.map(({ fileName }) => join(outDir, fileName))
  return {
    inputs: output.flatMap(({ moduleIds = [] }) => moduleIds.map(id => relative('.', id))),
    paths: [...paths, ...paths.filter(path => !path.endsWith('.png')).flatMap(pack)],
  }
}

function pack(path) {
  const text = readFileSync(path)
  writeFileSync(`${path}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
  writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }))
  return [`${path}.br`, `${path}.gz`]
}

/** Where X.browser.ts is, it stands for X.ts: TypeScript does the same by its `moduleSuffixes`. */
const forBrowsers = {
  name: 'for-browsers',
  enforce: 'pre',
  resolveId: {
    filter: { id: /^\..*\.ts$/ },
    handler(path, importer) {
      const other = resolve(dirname(importer), path.replace(/\.ts$/, '.browser.ts'))
      return existsSync(other) ? other : undefined
    },
  },
}

/** What a board asks for before it is drawn. The rows of all other resources come with the first call of one. */
const firstResources = ['auth', 'boards', 'cards', 'columns', 'projects', 'settings']
const otherRows = 'virtual:contract-rows'

/** A client asks four things of the contract's rows, and the status of an error. Without schemas and messages a page is a third shorter. */
const contractRows = {
  name: 'contract-rows',
  enforce: 'pre',
  resolveId: { filter: { id: new RegExp(`^${otherRows}$`) }, handler: () => otherRows },
  load: {
    filter: { id: [new RegExp(`^${otherRows}$`), /\/src\/client\/resources\.ts$/, /\/src\/contract\/errors\.ts$/] },
    handler: id => (id === otherRows ? otherResources() : id.endsWith('/errors.ts') ? statusesOfErrors() : resources()),
  },
}

async function resources() {
  const rows = Object.keys(await rowsOfContract()).map(name =>
    firstResources.includes(name) ? `${name}:async()=>rows.${name}` : `${name}:async()=>(await other()).${name}`,
  )
  const first = await rowsOfContract(name => firstResources.includes(name))
  return `const rows=${JSON.stringify(first)},other=()=>import('${otherRows}');export const resources={${rows}}`
}

async function otherResources() {
  const rows = Object.entries(await rowsOfContract(name => !firstResources.includes(name)))
  return rows.map(([name, row]) => `export const ${name}=${JSON.stringify(row)};`).join('')
}

async function statusesOfErrors() {
  const { errors } = await bundled('src/contract/errors.ts')
  const said = Object.entries(errors).flatMap(([code, [status, text]]) =>
    status === 401 ? [[code, [status, text]]] : [403, 429].includes(status) || status >= 500 ? [[code, [status]]] : [],
  )
  return `export const errors=${JSON.stringify(Object.fromEntries(said))}`
}

async function rowsOfContract(isWanted = () => true) {
  const { contract } = await bundled('src/contract/index.ts')
  const asked = ({ method, path, body, transfer, input }) => ({ method, path, body, transfer, input: input && true })
  const askedOf = resource => Object.fromEntries(Object.entries(resource).map(([name, row]) => [name, asked(row)]))
  return Object.fromEntries(
    Object.entries(contract).flatMap(([name, resource]) => (isWanted(name) ? [[name, askedOf(resource)]] : [])),
  )
}

async function bundled(path) {
  const { outputFiles } = await bundle({
    entryPoints: [path],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
}

/** As which the page is installed. Nothing is kept by it: what it shows is for who is signed in. */
const webManifest = {
  name: 'web-manifest',
  transformIndexHtml: (_, { bundle: files }) => {
    const { fileName } = Object.values(files).find(({ names }) => names?.includes('board.webmanifest'))
    return [{ tag: 'link', attrs: { rel: 'manifest', href: `./${fileName}` }, injectTo: 'head' }]
  },
  generateBundle: {
    order: 'pre',
    handler() {
      const assetOf = (name, source) => this.getFileName(this.emitFile({ type: 'asset', name, source }))
      const srcOf = icon => `../${assetOf(icon, readFileSync(join(import.meta.dirname, 'icons', icon)))}`
      const source = JSON.stringify({
        name: 'board',
        short_name: 'board',
        description: project.description,
        start_url: '../',
        scope: '../',
        display: 'standalone',
        background_color: '#15161a',
        theme_color: '#4547c9',
        icons: [
          { src: srcOf('board.svg'), sizes: 'any', type: 'image/svg+xml' },
          { src: srcOf('board-512.png'), sizes: '512x512', type: 'image/png', purpose: 'any maskable' },
        ],
      })
      assetOf('board.webmanifest', source)
    },
  },
}
