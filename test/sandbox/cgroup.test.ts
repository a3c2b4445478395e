import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { hasCgroup, ownCgroup } from '../support/sandbox/cgroups.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { readProcessFile } from '../support/processes/processFiles.ts'

type Settings = NonNullable<Parameters<AgentBoard['client']['projects']['update']>[0]['sandbox']>

describe.skipIf(!hasBubblewrap || !hasCgroup)('a session in a control group', () => {
  let board: AgentBoard
  beforeAll(async () => {
    board = await startAgentBoard({}, { sandbox: 'require' })
    await board.client.agents.sandbox()
  })
  afterAll(() => board.close())

  const base = () => dirname(ownCgroup())
  const groups = () => readdirSync(base()).filter(name => name.startsWith(`board-session-${process.pid}-`))
  const start = async (command: string, settings: Settings = {}): Promise<Card> => {
    const none = { memoryMiB: null, processes: null, fileMiB: null, minutes: null }
    await board.client.projects.update({ id: board.projectId, sandbox: { ...none, ...settings } })
    return board.client.cards.create({
      projectId: board.projectId,
      title: 'Shell',
      kind: 'terminal',
      command,
      columnId: board.columns.active,
    })
  }
  const run = async (command: string, settings?: Settings): Promise<Card> => {
    const { id } = await start(command, settings)
    return board.until(id, 'an end', ({ status }) => ['completed', 'failed'].includes(status), 60_000)
  }
  const fileOf = ({ id }: Card, name: string) => join(board.dataDir, 'worktrees', board.projectId, id, name)
  const said = async ({ id }: Card) => (await board.messages(id)).map(({ content }) => content).join('\n')

  test('has the limits of the server', async () => {
    expect(await board.client.agents.sandbox()).toMatchObject({
      bounds: {
        kind: 'cgroup',
        reason: null,
        advice: null,
        defaults: { memoryMiB: expect.any(Number), processes: 2048 },
      },
    })
    expect(basename(ownCgroup())).toBe('server')
  })

  test('holds all processes of the session, and is deleted with it', async () => {
    const card = await start('(setsid sleep 100 &); touch ready; until [ -e go ]; do sleep 0.05; done', {
      memoryMiB: 300,
      processes: 40,
    })
    await eventually('its start', () => existsSync(fileOf(card, 'ready')))
    expect(groups()).toHaveLength(1)
    const read = (name: string) => readFileSync(join(base(), groups()[0]!, name), 'utf8').trim()
    expect(['memory.max', 'memory.oom.group', 'pids.max'].map(read)).toEqual([String(300 * 1024 ** 2), '1', '44'])
    const names = read('cgroup.procs')
      .split('\n')
      .map(pid => readProcessFile(Number(pid), 'comm').trim())
    expect(names).toEqual(expect.arrayContaining(['bwrap', 'sh', 'sleep']))
    writeFileSync(fileOf(card, 'go'), '')
    await board.untilStatus(card.id, 'completed')
    await eventually('the end of its group', () => groups().length === 0)
  })

  test('has finite defaults if the project sets no limits', async () => {
    const { bounds } = await board.client.agents.sandbox()
    const card = await start('touch ready; until [ -e go ]; do sleep 0.05; done')
    await eventually('its start', () => existsSync(fileOf(card, 'ready')))
    const read = (name: string) => readFileSync(join(base(), groups()[0]!, name), 'utf8').trim()
    const { memoryMiB, processes } = bounds.defaults
    expect(['memory.max', 'pids.max'].map(read)).toEqual([String(memoryMiB * 1024 ** 2), String(processes + 4)])
    writeFileSync(fileOf(card, 'go'), '')
    await board.untilStatus(card.id, 'completed')
  })

  test.each([
    [
      'its processes together',
      'for i in 1 2 3 4; do node -e "Buffer.alloc(6e7, 1); setTimeout(() => {}, 1e6)" & done; wait',
    ],
    ['files in /tmp', 'head -c 300000000 /dev/zero > /tmp/large; sleep 100'],
  ])('ends with the reason memory_limit for %s', async (_, command) => {
    const card = await run(command, { memoryMiB: 200 })
    expect(card).toMatchObject({ status: 'failed', statusReason: 'memory_limit' })
    expect(await said(card)).toContain('more than 200 MB of memory')
  })

  test('never has more processes than the project allows, and ends with the reason process_limit', async () => {
    const card = await run('n=0; while [ $n -lt 300 ]; do sleep 100 & n=$((n + 1)); echo $n > count; done; wait', {
      processes: 20,
    })
    expect(card).toMatchObject({ status: 'failed', statusReason: 'process_limit' })
    expect(Number(readFileSync(fileOf(card, 'count'), 'utf8'))).toBeLessThanOrEqual(24)
    expect(await said(card)).toContain('more than 20 processes')
  })

  test('ends with the reason of its program if no limit was reached', async () => {
    const card = await run('echo "fatal: out of memory" >&2; kill -9 $$', { memoryMiB: 200, processes: 20 })
    expect(card).toMatchObject({ status: 'failed', statusReason: 'crashed' })
  })

  test('limits several commands of a session together', async () => {
    await board.client.projects.update({
      id: board.projectId,
      worktree: { setup: 'head -c 300000000 /dev/zero > /tmp/large', afterRun: 'cat /proc/self/cgroup > after' },
    })
    try {
      expect(await run('true', { memoryMiB: 200 })).toMatchObject({ statusReason: 'memory_limit' })
      const card = await run('true', { memoryMiB: 400 })
      expect(card.status).toBe('completed')
      expect(readFileSync(fileOf(card, 'after'), 'utf8')).toBe('0::/\n')
    } finally {
      await board.client.projects.update({ id: board.projectId, worktree: { setup: '', afterRun: '' } })
    }
    await eventually('the end of their groups', () => groups().length === 0)
  })

  test('can neither see nor change it', async () => {
    const card = await run(
      [
        'cat /proc/self/cgroup > own',
        'ls /sys/fs > seen 2>&1',
        'grep -c cgroup /proc/self/mountinfo > mounts',
        'mkdir -p /tmp/c && mount -t cgroup2 none /tmp/c 2> refused',
        `echo 0 > '${join(base(), 'server/cgroup.procs')}' 2> /dev/null && touch out`,
        'true',
      ].join('; '),
      { memoryMiB: 200 },
    )
    expect(card.status).toBe('completed')
    expect(readFileSync(fileOf(card, 'own'), 'utf8')).toBe('0::/\n')
    expect(readFileSync(fileOf(card, 'seen'), 'utf8')).toContain('No such file')
    expect(readFileSync(fileOf(card, 'mounts'), 'utf8')).toBe('0\n')
    expect(readFileSync(fileOf(card, 'refused'), 'utf8')).not.toBe('')
    expect(existsSync(fileOf(card, 'out'))).toBe(false)
  })

  test('is removed with its processes after its server has died', async () => {
    const dead = spawn('true')
    await once(dead, 'exit')
    const left = join(base(), `board-session-${dead.pid}-1-1`)
    mkdirSync(left)
    const sleeper = spawn('sleep', ['1000'])
    writeFileSync(join(left, 'cgroup.procs'), String(sleeper.pid))
    const ended = once(sleeper, 'exit')
    const next = await startAgentBoard({}, { sandbox: 'auto' })
    await next.client.agents.sandbox()
    await next.close()
    expect(existsSync(left)).toBe(false)
    expect(await ended).toEqual([null, 'SIGKILL'])
  })
})
