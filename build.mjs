/**
 * Makes the program in dist/ of the sources: ES modules, split where something is imported on demand, so that a command loads
 * only what it needs. All packages are bundled but those that package.json names as dependencies, which have native parts or
 * find files beside themselves.
 */
import { build } from 'esbuild'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from './package.json' with { type: 'json' }

const folder = 'dist'
const licenses = join(folder, 'third-party-licenses.txt')

const { metafile } = await build({
  entryPoints: ['cli/main.ts', 'cli/manPages.ts'],
  outdir: folder,
  // As deep in the tree as the sources, which find other files by their own place.
  outbase: '.',
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  jsx: 'automatic',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  // ink imports its developer tools only under DEV=true; they are not installed.
  external: [...Object.keys(manifest.dependencies), 'react-devtools-core'],
  define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' },
  // CommonJS packages in the bundle call require, which a module does not have.
  banner: { js: "import{createRequire as boardRequire}from'node:module';const require=boardRequire(import.meta.url);" },
})
writeFileSync(licenses, licenseTexts(Object.keys(metafile.inputs)))
removeAllBut([...Object.keys(metafile.outputs), licenses, ...(await writeManPages())])

/** Writes the man pages, which the commands' tree makes, and returns their paths. */
async function writeManPages() {
  const { manPages } = await import('./dist/cli/manPages.js')
  const pages = Object.entries(await manPages()).map(([name, text]) => ({ path: join(folder, 'man', name), text }))
  mkdirSync(join(folder, 'man'), { recursive: true })
  for (const { path, text } of pages) writeFileSync(path, text)
  return pages.map(({ path }) => path)
}

/** The licenses of what is bundled, as they ask for. */
function licenseTexts(inputs) {
  const packages = new Set(inputs.flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []))
  return [...packages]
    .toSorted()
    .map(licenseText)
    .join(`\n${'-'.repeat(80)}\n\n`)
}

function licenseText(path) {
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const file = readdirSync(path).find(each => /^licen[cs]e(\.|-|$)/i.test(each))
  return `${name} ${version} (${license})\n\n${file ? readFileSync(join(path, file), 'utf8') : ''}`
}

/** What an older build left is removed last, so that a program that runs meanwhile finds its parts. */
function removeAllBut(paths) {
  const kept = new Set(paths.map(path => join(path)))
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !kept.has(path)) rmSync(path)
  }
}
