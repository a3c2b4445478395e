// Prints the figures of the terminal board under load, with 20,000 cards: node test/bench/terminal.mjs [seconds]
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const { status } = spawnSync(
  process.execPath,
  [resolve(root, 'node_modules/vitest/vitest.mjs'), 'run', 'test/ui/screens.load.test.ts'],
  { cwd: root, stdio: 'inherit', env: { ...process.env, BOARD_TEST_ROUNDS: process.argv[2] ?? '10' } },
)
process.exitCode = status ?? 1
