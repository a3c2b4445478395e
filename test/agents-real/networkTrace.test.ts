import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { traceNetwork } from '../support/agents/networkTrace.ts'
import { eventually } from '../support/waiting/eventually.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-trace-'))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})
const trace = traceNetwork(join(folder, 'trace'))

test.skipIf(trace.prefix.length === 0)(
  'a trace has the names and the foreign addresses that a grandchild process tried',
  async () => {
    const program = `
    const give = socket => socket.on('error', () => {}).setTimeout(200, () => socket.destroy())
    give(require('net').connect(443, '192.0.2.77'))
    give(require('net').connect(9, '127.0.0.1'))
    require('dns').lookup('telemetry.example', () => {})
    require('dns').resolve4('resolved.example', () => {})`
    const [command, ...args] = [...trace.prefix, 'sh', '-c', '"$@" & wait', 'sh', process.execPath, '-e', program]
    execFileSync(command!, args, { stdio: 'ignore' })
    const names = ['192.0.2.77:443', 'resolved.example', 'telemetry.example']
    await eventually('the whole trace', () => names.every(name => trace.foreign().includes(name)))
    expect(
      trace
        .foreign()
        .filter(each => !each.endsWith(':53'))
        .sort(),
    ).toEqual(names)
  },
)
