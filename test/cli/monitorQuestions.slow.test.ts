import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { boardIn } from '../support/terminals/terminal.ts'
import { eventually } from '../support/waiting/eventually.ts'

describe.skipIf(!hasBubblewrap)('the question about a monitor of a session that has ended', () => {
  let board: AgentBoard
  let cli: CommandLine
  beforeAll(async () => {
    const calls = (command: string) => ({
      FIXTURE_CALLS: JSON.stringify([['add_monitor', { command, intervalSecs: 3600, allowUnsandboxed: true }]]),
    })
    board = await startFolderBoard(
      {
        first: { fixture: 'mcp-user', env: calls('touch first') },
        second: { fixture: 'mcp-user', env: calls('touch second') },
      },
      { sandbox: 'require' },
    )
    cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: 'Agents' })
  })
  afterAll(async () => {
    cli?.close()
    await board?.close()
  })
  const start = async (agent: string) => {
    const { id } = await board.start(agent)
    await board.untilStatus(id, 'completed')
    return id
  }
  const ran = (name: string) => eventually(`the run of ${name}`, () => existsSync(join(board.path, name)))

  test('is shown and answered on the command line', async () => {
    const id = await start('first')
    const [monitor] = await board.client.monitors.listProject({ projectId: board.projectId })
    const requestId = monitor!.requestId!
    expect((await cli.board(['monitors', 'list', id])).stdout).toContain(requestId)
    expect((await cli.board(['status'])).stdout).toContain('monitorQuestions\t1')
    expect((await cli.board(['status', '--exit-status'])).code).toBe(1)
    const { stderr } = await cli.board(['agents', 'view', id])
    for (const words of ['Run a command outside the sandbox', '$ touch first', `--request ${requestId}`])
      expect(stderr).toContain(words)
    expect((await cli.board(['agents', 'approve', id, '--request', requestId])).code).toBe(0)
    await ran('first')
    expect((await cli.board(['status', '--exit-status'])).code).toBe(0)
    await board.client.columns.clear({ projectId: board.projectId, columnId: board.columns.active })
  })

  test('is shown and answered on the board of the terminal', async () => {
    const terminal = boardIn(['ui'], { cwd: cli.home, env: { ...cli.env, TERM: 'xterm-256color' } })
    try {
      await terminal.shows('live', 20_000)
      const id = await start('second')
      await terminal.shows(new RegExp(`#${id}  ◆ completed, asks`), 20_000)
      await terminal.shows('1 waiting')
      terminal.press('l', 'a')
      await terminal.shows('Run a command outside the sandbox')
      await terminal.shows('$ touch second')
      terminal.press('y')
      await ran('second')
      await terminal.shows(new RegExp(`#${id}  ✓ completed`), 20_000)
    } finally {
      terminal.close()
    }
  })
})
