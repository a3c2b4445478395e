/**
 * `npm run shape` prints the structure of the sources: sizes, imports that run up, cycles, unused exports, and duplicate code.
 * knip and jscpd are fetched by npx, because no other script needs them.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findCycles, imports, moduleLayers, root, sources, upwardImports } from './imports.ts'

const maxFileLines = 300
const maxFunctionLines = 60
const work = mkdtempSync(join(tmpdir(), 'board-shape-'))

interface Sized {
  name: string
  lines: number
}

function main(): void {
  const files = sources.map(name => ({ name, lines: readFileSync(join(root, name), 'utf8').split('\n').length - 1 }))
  print('files', files, maxFileLines)
  print('functions', functionSizes(), maxFunctionLines)
  const clones = duplicates()
  const rows: [string, number, readonly string[]][] = [
    ['lines', files.reduce((sum, { lines }) => sum + lines, 0), []],
    ['imports', imports.length, []],
    ['imports that run up', upwardImports.length, upwardImports.map(({ from, to }) => `${from} -> ${to}`)],
    ['cycles', cycles().length, cycles()],
    ['layers of modules', moduleLayers().length, moduleLayers().map(layer => layer.join(' '))],
    ['unused exports', unusedExports().length, unusedExports()],
    ['code that stands twice', clones.length, clones],
  ]
  for (const [name, count, each] of rows) {
    process.stdout.write(`${name}: ${count}\n`)
    for (const one of each) process.stdout.write(`  ${one}\n`)
  }
}

function print(noun: string, all: readonly Sized[], maxLines: number): void {
  const sorted = all.toSorted((a, b) => b.lines - a.lines)
  const over = sorted.filter(({ lines }) => lines > maxLines)
  process.stdout.write(`${noun}: ${all.length}, of more than ${maxLines} lines: ${over.length}\n`)
  for (const { name, lines } of over.length > 0 ? over : sorted.slice(0, 5))
    process.stdout.write(`  ${String(lines).padStart(4)}  ${name}\n`)
}

/** Functions of more than one line, as the linter counts them. */
function functionSizes(): Sized[] {
  return lint({ rules: { 'max-lines-per-function': ['error', { max: 1 }] } }).map(({ filename, message }) => {
    const [, name, lines] = /^The \S+(?: function)?(?: `(.*)`)? has too many lines \((\d+)\)/.exec(message) ?? []
    return { name: `${filename}: ${name ?? 'anonymous'}`, lines: Number(lines) }
  })
}

const cycles = once(() => findCycles(imports).map(files => files.join(' ')))

function lint(config: object): { filename: string; message: string }[] {
  const path = join(work, 'oxlint.json')
  writeFileSync(path, JSON.stringify({ ...config, categories: { correctness: 'off' } }))
  const { diagnostics } = JSON.parse(run('oxlint', '--config', path, '--format', 'json', 'src', 'cli', 'daemon')) as {
    diagnostics: { filename: string; message: string }[]
  }
  return diagnostics
}

const unusedExports = once(() => {
  const path = join(work, 'knip.json')
  const entry = [
    '{cli,daemon}/{main,program}.ts',
    'cli/watch/watchList.ts',
    'daemon/web/main.tsx',
    'src/client/*.browser.ts',
    'src/process/watchdogProgram.ts',
    'src/backups/archiverProgram.ts',
    'src/worktrees/worktreeProgram.ts',
    'test/**/*.test.ts',
    'test/{bench,mutation}/*.ts',
  ]
  writeFileSync(path, JSON.stringify({ entry, project: ['{src,cli,daemon}/**'] }))
  const { issues } = JSON.parse(
    run('--yes', 'knip@6.44.2', '--config', path, '--include', 'exports,types', '--reporter', 'json'),
  ) as { issues: { file: string; exports?: { name: string }[]; types?: { name: string }[] }[] }
  return issues.flatMap(({ file, exports = [], types = [] }) =>
    [...exports, ...types].map(({ name }) => `${file}: ${name}`),
  )
})

function duplicates(): string[] {
  run('--yes', 'jscpd@4.3.0', 'src', 'cli', 'daemon', '--min-lines', '6', '--reporters', 'json', '--output', work, '-s')
  const { duplicates: found } = JSON.parse(readFileSync(join(work, 'jscpd-report.json'), 'utf8')) as {
    duplicates: Record<'firstFile' | 'secondFile', { name: string; start: number }>[]
  }
  return found.map(
    ({ firstFile, secondFile }) => `${firstFile.name}:${firstFile.start} and ${secondFile.name}:${secondFile.start}`,
  )
}

/** Runs a program that exits with 1 if it has findings, which is not an error here. */
function run(...words: string[]): string {
  try {
    return execFileSync('npx', words, {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string }
    if (status === 1) return stdout
    throw error
  }
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

try {
  main()
} finally {
  rmSync(work, { recursive: true, force: true })
}
