/**
 * Makes the program in dist/ of the sources:
 * - board.cjs, the command line, and server.cjs, the server: one file each, of which only runs what was imported, with the code
 *   that V8 made of it beside it (bin/load.js says why);
 * - watchdog.cjs, which ends what a server that died has left;
 * - archiver.cjs and markdown.cjs, which run on threads: they write and read backups, and read files of tasks;
 * - worktree.cjs, the process that works on the files of one worktree in a sandbox;
 * - packages/: large packages that no start needs, so that none reads them;
 * - client/, what programs import as board/client (src/client/public.ts);
 * - web/, the page, with each of its files packed for who takes that (daemon/files/pageFiles.ts serves them);
 * - watch/, the lists of `--watch`: ES modules, which ink and its layout engine want to be.
 * All packages are bundled but those that package.json names as dependencies, which have native parts or find files beside
 * themselves.
 */
import { build } from 'esbuild'
import { execFileSync } from 'node:child_process'
import { createRequire, isBuiltin } from 'node:module'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import v8 from 'node:v8'
import loader from './bin/load.js'
import { buildPage } from './daemon/web/build.mjs'
import { buildClientPackage } from './src/client/buildPackage.mjs'
import { licenseTexts } from './src/licenses/licenseTexts.mjs'
import manifest from './package.json' with { type: 'json' }

const require = createRequire(import.meta.url)
const folder = 'dist'
const licenses = join(folder, 'third-party-licenses.txt')
/**
 * The files of dist/packages, each with what it gives: packages that are imported only by what `import()` loads, or late. A server that
 * must not need its disk for them loads them ahead (daemon/main.ts).
 */
const packageFiles = {
  undici: ['undici'],
  execa: ['execa'],
  'file-type': ['file-type'],
  conf: ['conf'],
  'agent-client-protocol': ['@agentclientprotocol/sdk'],
  'libsql-client': ['@libsql/client', '@libsql/hrana-client'],
  'model-context-protocol': [
    '@modelcontextprotocol/sdk/types.js',
    '@modelcontextprotocol/sdk/server/index.js',
    '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js',
  ],
  'node-forge': ['node-forge'],
  'openid-client': ['openid-client'],
  'prom-client': ['prom-client'],
}
/**
 * What the programs import and a start, or most commands, use nothing of is loaded at its first use. Of the processor `board cards list`
 * takes 3 ms less without modules of Node's, a completion 5, and a start 2 % less without listhen's for banners and certificates.
 */
const lateModules = ['crypto', 'child_process', 'https', 'tls', 'readline', 'node-forge', 'consola', 'consola/utils']
const programs = ['board', 'server']
const keptFiles = [...programs, ...Object.keys(packageFiles).map(name => `packages/${name}`)]
const keepsCode = Number(process.versions.node.split('.')[0]) < 22

if (process.argv[2] === 'keep-code') await keepCode()
else await buildAll()

async function buildAll() {
  const commonJs = {
    ...options(),
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    // Code that V8 has kept knows no callback for import(): what is outside of a file is required.
    supported: { 'dynamic-import': false },
    define: { ...options().define, 'import.meta.url': 'moduleUrl' },
    banner: { js: "const moduleUrl=require('node:url').pathToFileURL(__filename).href;" },
  }
  const main = await build({
    ...commonJs,
    entryPoints: { board: 'cli/main.ts', server: 'daemon/program.ts' },
    outdir: folder,
    plugins: [
      { name: 'require-late', setup: requireLate },
      { name: 'require-packages', setup: requirePackages },
    ],
  })
  // Each is one complete file: the watchdog can outlive the folder of the board, and a sandbox contains no other file of it.
  const helpers = await build({
    ...commonJs,
    entryPoints: { watchdog: 'src/process/watchdogProgram.ts', worktree: 'src/worktrees/worktreeProgram.ts' },
    outdir: folder,
  })
  const threads = await buildThreads()
  const packages = await buildPackages(commonJs)
  const lists = await build({
    ...options(),
    entryPoints: ['cli/watch/watchList.ts'],
    outdir: join(folder, 'watch'),
    splitting: true,
    format: 'esm',
    jsx: 'automatic',
    // CommonJS packages in the bundle call require, which a module does not have.
    banner: {
      js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);",
    },
  })
  const client = await buildClientPackage(join(folder, 'client'), options())
  const page = await buildPage(join(folder, 'web'))
  for (const name of [...keptFiles, 'watchdog', 'archiver', 'markdown', 'worktree'])
    escapeOtherSigns(join(folder, `${name}.cjs`))
  if (keepsCode) execFileSync(process.execPath, ['build.mjs', 'keep-code'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const made = [...[main, helpers, threads, packages, lists].map(({ metafile }) => metafile), ...client.metafiles]
  writeFileSync(licenses, licenseTexts([...made.flatMap(({ inputs }) => Object.keys(inputs)), ...page.inputs]))
  removeAllBut([
    ...made.flatMap(({ outputs }) => Object.keys(outputs)),
    ...(keepsCode ? keptFiles.map(name => loader.codeCacheOf(name)) : []),
    licenses,
    client.types,
    ...page.paths,
    ...(await writeManPages()),
  ])
}

function buildPackages(commonJs) {
  return build({
    ...commonJs,
    entryPoints: Object.fromEntries(
      Object.entries(packageFiles).map(([file, given]) => [file, given.length === 1 ? given[0] : file]),
    ),
    outdir: join(folder, 'packages'),
    plugins: [{ name: 'package-files', setup: bundlePackageFiles }],
    // As Node gives a CommonJS file to who imports it: its exports are the default.
    footer: { js: 'module.exports=module.exports.default??module.exports;' },
  })
}

/** The server passes these programs to threads as text, without a path. They resolve packages from the path of the server's file. */
function buildThreads() {
  return build({
    ...options(),
    entryPoints: {
      archiver: 'src/backups/archiverProgram.ts',
      markdown: 'src/transfers/formats/markdownProgram.ts',
    },
    outdir: folder,
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    define: { ...options().define, 'import.meta.url': 'moduleUrl' },
    banner: { js: "const{moduleUrl}=require('node:worker_threads').workerData;(require=>{" },
    footer: { js: "})(require('node:module').createRequire(moduleUrl))" },
  })
}

function options() {
  return {
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    minify: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    // Never imported: ink's developer tools (DEV=true; they are not installed), and what listhen watches and runs sources with.
    external: [...Object.keys(manifest.dependencies), 'react-devtools-core', 'jiti', '@parcel/watcher-wasm'],
    define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' },
  }
}

function requirePackages({ onResolve }) {
  const fileOf = new Map(Object.entries(packageFiles).flatMap(([file, given]) => given.map(path => [path, file])))
  onResolve({ filter: /^[^.]/ }, ({ path }) =>
    fileOf.has(path) ? { path: `./packages/${fileOf.get(path)}.cjs`, external: true } : undefined,
  )
}

/** A file that gives several modules, which share what is below them, is made of their exports. */
function bundlePackageFiles({ onResolve, onLoad }) {
  const namespace = 'package-file'
  onResolve({ filter: /./ }, ({ path, kind }) =>
    kind === 'entry-point' && packageFiles[path]?.length > 1 ? { path, namespace } : undefined,
  )
  onLoad({ filter: /./, namespace }, ({ path }) => ({
    contents: packageFiles[path].map(each => `export * from '${each}'`).join('\n'),
    resolveDir: import.meta.dirname,
  }))
}

function requireLate({ onResolve, onLoad }) {
  const namespace = 'late'
  const plain = path => path.replace(/^node:/, '')
  onResolve({ filter: /^[^.]/ }, ({ path, namespace: from }) => {
    if (!lateModules.includes(plain(path))) return undefined
    if (from !== namespace) return { path: plain(path), namespace }
    return isBuiltin(path) ? { path, external: true } : undefined
  })
  onLoad({ filter: /./, namespace }, ({ path }) => ({
    contents: `let loaded
      const load = () => (loaded ??= require('${path}'))
      for (const name of ${JSON.stringify(Object.keys(require(path)))})
        Object.defineProperty(exports, name, { enumerable: true, get: () => load()[name] })`,
    resolveDir: import.meta.dirname,
  }))
}

/** V8 holds a text of ASCII in half the memory and reads it in half the time; esbuild leaves other signs in regular expressions. */
function escapeOtherSigns(path) {
  const escaped = readFileSync(path, 'utf8').replace(
    /[^\x00-\x7f]/g,
    sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  writeFileSync(path, escaped)
}

/** Runs both programs in this process, a list of cards and a completion on a board of its own, and writes what V8 compiled for that. */
async function keepCode() {
  const dataDir = mkdtempSync(join(tmpdir(), 'board-build-'))
  process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  for (const name of Object.keys(process.env)) if (name.startsWith('BOARD_')) delete process.env[name]
  Object.assign(process.env, {
    BOARD_DATA_DIR: dataDir,
    XDG_CONFIG_HOME: dataDir,
    BOARD_COMPLETION_TIMEOUT_MS: '5000',
  })
  // V8 takes code only under the flags that it was made with, and a server sets some once it runs.
  v8.setFlagsFromString = () => {}
  const scripts = keptFiles.map(name => [name, loader.compile(name)])
  const loaded = Object.fromEntries(scripts.map(([name, script]) => [name, loader.run(script, name)]))
  const starts = { path: resolve('bin/board.js'), server: async () => loaded.server }
  const lines = ['projects create build --path . -q', 'cards add warm-up -P build -q', 'cards list -P build']
  for (const line of ['serve --port 0 --log-level error', ...lines]) await loaded.board.main(line.split(' '), starts)
  if (process.exitCode) throw new Error('The commands that warm the code up failed.')
  process.on('exit', () => {
    for (const [name, script] of scripts) writeFileSync(loader.codeCacheOf(name), script.createCachedData())
  })
  // Ends the process.
  await loaded.board.main(['__complete', '--', '-P', 'build', 'cards', 'view', ''], starts)
}

/** Writes the man pages, which the commands' tree makes, and returns their paths. */
async function writeManPages() {
  const pages = Object.entries(await loader.load('board').manPages({}))
  mkdirSync(join(folder, 'man'), { recursive: true })
  return pages.map(([name, text]) => {
    const path = join(folder, 'man', name)
    writeFileSync(path, text)
    return path
  })
}

/** What an older build left is removed last, so that a program that runs meanwhile finds its parts. */
function removeAllBut(paths) {
  const kept = new Set(paths.map(path => resolve(path)))
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !kept.has(resolve(path))) rmSync(path)
  }
}
