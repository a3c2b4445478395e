import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { runtimeFile, type Runtime } from '../../src/config/paths.ts'
import { eventually } from '../support/waiting/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'board-test-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('inherited descriptors of a server beyond its three are not passed to its child processes', async () => {
  const [dataDir, file] = [join(root, 'data'), join(root, 'lock')]
  writeFileSync(file, 'the lock of the script around the server')
  const held = openSync(file, 'r')
  // Node closes low ones.
  const stdio = Array.from({ length: 51 }, (_, at) => (at === 50 ? held : ('ignore' as const)))
  const args = ['serve', '--port', '0', '--data-dir', dataDir, '--log-level', 'error']
  const server = spawn(process.execPath, [resolve('bin/board.js'), ...args], { stdio })
  closeSync(held)
  const runtime = await eventually('the server', () => {
    try {
      return JSON.parse(readFileSync(runtimeFile(dataDir), 'utf8')) as Runtime
    } catch {
      return undefined
    }
  })
  const client = createClient({ url: runtime.url, token: runtime.token })
  const { id: projectId } = await client.projects.create({ name: 'p', path: root })
  const script = await client.scripts.create({
    projectId,
    name: 's',
    command: 'readlink /proc/self/fd/50; true',
  })
  await client.scripts.run({ projectId, scriptId: script.id })
  const { output } = await eventually('the script', async () => {
    const [status] = await client.scripts.status({ projectId })
    return status?.status === 'succeeded' ? status : undefined
  })
  expect(output).toBe('/dev/null\n')
  server.kill('SIGTERM')
  await once(server, 'exit')
})
