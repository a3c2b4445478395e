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
import { folder, options, programs } from './daemon/programs.mjs'
import { buildPage } from './daemon/web/build.mjs'
import { buildClientPackage } from './src/client/buildPackage.mjs'
import { licenseTexts } from './src/licenses/licenseTexts.mjs'

const builds = await Promise.all(programs.map(build))
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
