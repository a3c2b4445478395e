/**
 * Builds the program in dist/ from the sources. All packages are bundled, except the dependencies in package.json, which have native
 * parts or open files next to themselves:
 * - board.js, the command line, and server.js, the server;
 * - watchdog.cjs, which stops the processes that a killed server leaves behind;
 * - worktree.cjs, the process that works on the files of a worktree in a sandbox;
 * - archiver.cjs and markdown.cjs, which run in threads: they write and read backups, and parse files with cards;
 * - client/, the package that programs import as board/client (src/client/public.ts);
 * - web/, the page, with compressed copies of its files (daemon/files/pageFiles.ts serves them);
 * - man/, the man pages.
 */
import { build } from 'esbuild'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildPage } from './daemon/web/build.mjs'
import { buildClientPackage } from './src/client/buildPackage.mjs'
import { licenseTexts } from './src/licenses/licenseTexts.mjs'
import manifest from './package.json' with { type: 'json' }

const folder = 'dist'
const options = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  jsx: 'automatic',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  outdir: folder,
  // listhen would watch and run sources with jiti and the watcher. They are not installed.
  external: [...Object.keys(manifest.dependencies), 'jiti', '@parcel/watcher-wasm'],
  define: { 'process.env.NODE_ENV': '"production"' },
}
const modules = {
  ...options,
  format: 'esm',
  // Bundled CommonJS packages call require, which an ES module does not have.
  banner: { js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);" },
}
const commonJs = { ...options, format: 'cjs', outExtension: { '.js': '.cjs' } }

const builds = await Promise.all([
  // A command loads only the parts that it uses.
  build({
    ...modules,
    entryPoints: { board: 'cli/main.ts' },
    splitting: true,
    chunkNames: 'parts/[name]-[hash]',
    plugins: [{ name: 'without-ink-devtools', setup: emptyInkDevtools }],
  }),
  // One file: the server never loads a part later, when no file descriptor might be free.
  build({ ...modules, entryPoints: { server: 'daemon/program.ts' } }),
  // Each is complete in one file: the watchdog can outlive the folder of the board, and a sandbox contains no other file of it.
  build({
    ...commonJs,
    entryPoints: { watchdog: 'src/process/watchdogProgram.ts', worktree: 'src/worktrees/worktreeProgram.ts' },
  }),
  // The server passes these programs to threads as text, which has no path. They resolve packages from the path of the server's file.
  build({
    ...commonJs,
    entryPoints: {
      archiver: 'src/backups/archiverProgram.ts',
      markdown: 'src/transfers/formats/markdownProgram.ts',
    },
    define: { ...options.define, 'import.meta.url': 'moduleUrl' },
    banner: { js: "const{moduleUrl}=require('node:worker_threads').workerData;(require=>{" },
    footer: { js: "})(require('node:module').createRequire(moduleUrl))" },
  }),
])
const client = await buildClientPackage(join(folder, 'client'), options)
const page = await buildPage(join(folder, 'web'))

const metafiles = [...builds.map(({ metafile }) => metafile), ...client.metafiles]
const licenses = join(folder, 'third-party-licenses.txt')
writeFileSync(licenses, licenseTexts([...metafiles.flatMap(({ inputs }) => Object.keys(inputs)), ...page.inputs]))
removeAllExcept([
  ...metafiles.flatMap(({ outputs }) => Object.keys(outputs)),
  licenses,
  client.types,
  ...page.paths,
  ...(await writeManPages()),
])

/** ink loads its developer tools if DEV is set. They require a package that is not installed. */
function emptyInkDevtools({ onLoad }) {
  onLoad({ filter: /\/ink\/build\/devtools\.js$/ }, () => ({ contents: '' }))
}

/** Writes the man pages from the tree of commands, and returns their paths. */
async function writeManPages() {
  const { manPages } = await import('./dist/board.js')
  mkdirSync(join(folder, 'man'), { recursive: true })
  return Object.entries(await manPages({})).map(([name, text]) => {
    const path = join(folder, 'man', name)
    writeFileSync(path, text)
    return path
  })
}

/** Removes the files of an earlier build. It does so at the end, because a program that is running might still read them. */
function removeAllExcept(paths) {
  const kept = new Set(paths.map(path => resolve(path)))
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !kept.has(resolve(path))) rmSync(path)
  }
}
