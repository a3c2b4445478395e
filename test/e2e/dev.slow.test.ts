import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'board-dev-'))
let dev: ChildProcess
let output = ''
let page: string

/** `npm run dev` in a copy of the repository whose sources a test can change. */
beforeAll(async () => {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', ':!test'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const file of files.split('\0').filter(Boolean)) cpSync(join(root, file), join(folder, file))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  const env = { ...process.env, BOARD_DATA_DIR: join(folder, '.dev') }
  dev = spawn(process.execPath, ['daemon/dev.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [dev.stdout!, dev.stderr!]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  page = await eventually('the address of the page', () => /hot reload:\s+(\S+)\//.exec(output)?.[1])
})

afterAll(async () => {
  dev.kill('SIGTERM')
  await once(dev, 'exit')
  rmSync(folder, { recursive: true, force: true })
})

function replaceIn(file: string, from: string, to: string): void {
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  expect(text).toContain(from)
  writeFileSync(path, text.replace(from, to))
}

const read = async (path: string): Promise<string> => (await fetch(page + path)).text()

test('a changed source restarts the server', async () => {
  await eventually('the server', async () => (await read('/api/nothing')).includes('Route not found.'))
  replaceIn('src/contract/errors.ts', 'Route not found.', 'This route does not exist at all.')
  await eventually('the changed server', async () =>
    (await read('/api/nothing')).includes('This route does not exist at all.'),
  )
})

test('a changed part of the page is served at once', async () => {
  expect(await read('/main.tsx')).toContain('StrictMode')
  replaceIn('daemon/web/main.tsx', '<StrictMode>', '<StrictMode key="changed">')
  await eventually('the changed part', async () => (await read('/main.tsx')).includes('"changed"'))
})
