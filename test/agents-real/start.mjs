// Runs the tests with real agents (npm run test:agents, with vitest's own arguments). If this account has the permission, in a separate
// network that has only loopback: the tests see an agent's other connection attempts, and none leaves the machine.
import { compareTable } from './table.mjs'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Codex's own sandbox mounts another /dev, without the files of tests in /dev/shm.
process.env.BOARD_TEST_ON_DISK = '1'

const folder = mkdtempSync(join(tmpdir(), 'board-agents-'))
const resolver = join(folder, 'resolv.conf')
// No server answers there. But the query is sent, so that the trace has the name.
writeFileSync(resolver, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n')
const alone = ['unshare', '--net', '--mount', '--map-root-user', 'sh', '-c']
const isRoot = process.getuid?.() === 0
if (isRoot) alone.splice(3, 1)
const prepare = `ip link set lo up && mount --bind '${resolver}' /etc/resolv.conf`
const isAble = spawnSync(alone[0], [...alone.slice(1), prepare], { stdio: 'ignore' }).status === 0
const args = process.argv.slice(2).filter(each => each !== '--table')
const command = [process.execPath, 'test/run.mjs', '--project', 'agents', ...args]
if (!isAble)
  console.error('SKIPPED: a separate network for the real agents; unshare, ip or mount is not permitted here.')
const [program, ...rest] = isAble ? [...alone, `${prepare} && exec "$@"`, 'sh', ...command] : command
const cells = join(folder, 'cells')
const { status } = spawnSync(program, rest, { stdio: 'inherit', env: { ...process.env, BOARD_AGENT_CELLS: cells } })
const isTrue = compareTable(cells, process.argv.includes('--table'))
rmSync(folder, { recursive: true, force: true })
process.exitCode = status || (isTrue ? 0 : 1)
