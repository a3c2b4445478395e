/**
 * Builds the page of the board. Large parts that the board does not need are loaded on demand. Each file has a content hash in
 * its name and is stored in every supported encoding (`daemon/files/pageFiles.ts` serves them).
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'
import project from '../../package.json' with { type: 'json' }
import { browserVariant, rowsOfContract, statusesOfErrors } from '../../src/client/contractRows.mjs'

/** Returns the source files of the page and the paths of the built files. */
export async function buildPage(outDir) {
  // For any other value, which test runs set, Vite would use React's development build.
  process.env.NODE_ENV = 'production'
  const { output } = await build({
    ...pageOptions,
    base: './',
    define: { __REACT_DEVTOOLS_GLOBAL_HOOK__: 'undefined' },
    plugins: [...pageOptions.plugins, webManifest],
    build: {
      outDir: resolve(outDir),
      emptyOutDir: false,
      target: ['chrome120', 'firefox121', 'safari17.2'],
      assetsInlineLimit: 0,
      cssCodeSplit: false,
      modulePreload: {
        polyfill: false,
        // The names of the dependencies of each lazy part would add 1 kB to the first script.
        resolveDependencies: (_, paths, { hostType }) => (hostType === 'html' ? paths : []),
      },
      reportCompressedSize: false,
      // Disable the timing of each plugin, and a warning per icon about React's server directives.
      rolldownOptions: {
        checks: { bundlerTimings: false, moduleLevelDirective: false },
        // The initial code of each page is one file instead of many with shared chunks: 135 kB compressed instead of 142.
        output: { codeSplitting: { groups: [{ name: 'index', tags: ['$initial'] }] } },
      },
    },
  })
  const paths = output.map(({ fileName }) => join(outDir, fileName))
  return {
    // Fonts are not modules.
    inputs: output.flatMap(({ moduleIds = [], originalFileNames = [] }) => [
      ...moduleIds.map(id => relative('.', id)),
      ...originalFileNames.map(name => relative('.', join(import.meta.dirname, name))),
    ]),
    paths: [...paths, ...paths.filter(path => !/\.(png|woff2)$/.test(path)).flatMap(pack)],
  }
}

function pack(path) {
  const text = readFileSync(path)
  writeFileSync(`${path}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
  writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }))
  return [`${path}.br`, `${path}.gz`]
}

const forBrowsers = {
  name: 'for-browsers',
  enforce: 'pre',
  resolveId: {
    filter: { id: /^\..*\.ts$/ },
    handler: browserVariant,
  },
}

/** The rows that a board requests before it renders, and when a card is moved. All other rows load on the first call. */
const firstRows = {
  auth: ['me', 'status', 'redeemTicket'],
  boards: ['list'],
  cards: ['get', 'list', 'move'],
  columns: ['list'],
  projects: ['list'],
  settings: ['getShortcuts', 'getUser'],
}
const otherRows = 'virtual:contract-rows'

/** Without schemas and messages a page is a third shorter. */
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
  const all = await rowsOfContract()
  const first = Object.fromEntries(
    Object.entries(firstRows).map(([name, calls]) => [
      name,
      Object.fromEntries(calls.map(call => [call, all[name][call]])),
    ]),
  )
  const loaders = Object.keys(all).map(name =>
    name in first
      ? `${name}:async call=>call in first.${name}?first.${name}:(await other()).${name}`
      : `${name}:async()=>(await other()).${name}`,
  )
  return `const first=${JSON.stringify(first)},other=()=>import('${otherRows}');export const resources={${loaders}}`
}

async function otherResources() {
  const rows = Object.entries(await rowsOfContract())
  return rows.map(([name, row]) => `export const ${name}=${JSON.stringify(row)};`).join('')
}

/** As which the page is installed. It does not cache anything, because its content depends on the signed-in user. */
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

/** The options of Vite that the build and `npm run dev` share. */
export const pageOptions = {
  configFile: false,
  root: import.meta.dirname,
  publicDir: false,
  logLevel: 'warn',
  plugins: [forBrowsers, contractRows],
}
