import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { change } from '../../src/domain/forges/pullRequests.ts'
import { readPullRequest } from '../../src/store/forges/pullRequests.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { FakeForge } from '../support/forge/fakeForge.ts'
import { onTerminal } from '../support/terminals/onTerminal.ts'

let board: AgentBoard
let forge: FakeForge
let cli: CommandLine
let cardId: string
beforeAll(async () => {
  board = await startAgentBoard({
    writes: { protocol: 'command', command: ['sh', '-c', 'echo mine > mine; echo "I put the roof on."'] },
  })
  forge = await FakeForge.start({ kind: 'github', folder: board.folder('forge'), from: board.path })
  execFileSync('git', ['-C', board.path, 'config', 'remote.origin.url', forge.cloneUrl])
  const { id } = await board.client.credentials.create({
    name: 'Forge',
    provider: 'github',
    apiKey: forge.token,
    baseUrl: forge.url,
  })
  await board.client.projects.update({ id: board.projectId, forge: { credentialId: id } })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
})
afterAll(async () => {
  cli.close()
  await forge.close()
  await board.close()
})
const worked = async (title: string, labels: string[] = []) =>
  (cardId = (await board.untilStatus((await board.start('writes', { title, labels })).id, 'completed')).id)

describe('board cards pr', () => {
  test('opens, shows, lists and merges a pull request', async () => {
    await worked('Put a roof on', ['roof'])
    const none = await cli.board(['cards', 'pr', 'view', cardId])
    expect(none).toMatchObject({ code: 3, stderr: expect.stringContaining('see: board cards pr create') as string })
    for (const verb of ['view', 'continue']) {
      const wrong = await cli.board(['cards', 'pr', verb, cardId, '--repository', 'no'])
      expect(wrong).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("project's repositories: home") as string,
      })
    }
    const made = await cli.board([
      'cards',
      'pr',
      'create',
      cardId,
      '--card-labels',
      '-l',
      'new',
      '-r',
      'ann',
      '--draft',
    ])
    expect(made).toMatchObject({ code: 0, stderr: 'Opened #1 into main.\n' })
    expect(made.stdout).toContain('state\tdraft\n')
    expect(forge.pull()).toMatchObject({
      title: 'Put a roof on',
      labels: ['new', 'roof'],
      reviewers: ['ann'],
      draft: true,
    })
    forge.markReady(1)
    const commit = forge.pull().headSha
    forge.setCheck(commit, 'build', 'failure')
    forge.review(1, 'ann', 'changes_requested', [], 'No')
    expect(await cli.board(['cards', 'pr', 'merge', cardId])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('these checks failed: build; changes were requested by ann') as string,
    })
    const shown = await cli.ok(['cards', 'pr', 'view', cardId])
    expect(shown).toMatch(/checks\tfailure\nreviews\tchanges requested\n/)
    expect(shown).toMatch(/\nfailure +build +http.*\nchanges requested +ann /)
    expect(await cli.ok(['cards', 'pr', 'list'])).toMatch(
      new RegExp(`^${cardId}\\t1\\tPut a roof on\\topen\\tfailure\\tchanges requested\\thttp`),
    )
    expect(await cli.board(['cards', 'pr', 'merge', cardId, '--auto', '--squash'])).toMatchObject({
      code: 0,
      stderr: '#1 will be merged as soon as the forge allows it. Checks: failure.\n',
    })
    expect(await cli.json(['cards', 'pr', 'view', cardId])).toMatchObject({
      autoMerge: true,
      mergeMethod: 'squash',
    })
    expect(await cli.board(['cards', 'pr', 'merge', cardId, '--force'])).toMatchObject({
      code: 0,
      stderr: 'Merged #1 into main.\n',
    })
    expect(await cli.ok(['cards', 'pr', 'list'])).toBe('')
    expect(await cli.json(['cards', 'pr', 'list', '--state', 'merged'])).toMatchObject([{ cardId, number: 1 }])
  })

  test('reads its text from a file, and can print its address', async () => {
    await worked('Second')
    const file = join(board.folder('texts'), 'body.md')
    writeFileSync(file, 'From a file.\n')
    await cli.ok(['cards', 'pr', 'create', cardId, '-t', 'Another', '-F', file])
    expect(forge.pull().title).toBe('Another')
    expect(forge.pull().body).toMatch(new RegExp(`^From a file\\.\\n\\nCreated from card ${cardId} of the board\\.$`))
    const { url } = await board.client.pullRequests.get({ projectId: board.projectId, cardId })
    expect(await cli.ok(['cards', 'pr', 'view', cardId, '--web'])).toBe(`${url}\n`)
  })

  test('edits its description in an editor, starting with the text on the forge', async () => {
    const nothing = await cli.board(['cards', 'pr', 'edit', cardId])
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('nothing to change') as string })
    const edited = ['cards', 'pr', 'edit', cardId, '-t', 'Better', '--draft', '--auto', '--merge-method', 'rebase']
    expect(await cli.board(edited)).toMatchObject({ code: 0, stderr: `Changed #2 of card ${cardId}.\n` })
    expect(forge.pull()).toMatchObject({ title: 'Better', draft: true })
    expect(forge.pull().body).toContain('From a file.')
    const shown = await cli.json(['cards', 'pr', 'edit', cardId, '--ready', '--no-auto', '-b', 'Rewritten.'])
    expect(shown).toMatchObject({ draft: false, autoMerge: false, mergeMethod: 'rebase', title: 'Better' })
    expect(forge.pull().body).toMatch(new RegExp(`^Rewritten\\.\\n\\nCreated from card ${cardId} of the board\\.$`))
    const editing = async (script: string) => {
      const file = join(cli.home, 'editor')
      writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
      const env = { ...cli.env, NO_COLOR: '1', TMPDIR: cli.home, EDITOR: file }
      return onTerminal(['cards', 'pr', 'edit', cardId, '--editor'], { cwd: cli.home, env })
    }
    expect(await editing(':')).toEqual({ code: 0, text: 'Nothing was changed.\n' })
    const { code } = await editing('sed -i "s/Better/Best/; s/Rewritten/Said last/" "$1"')
    expect([code, forge.pull().title]).toEqual([0, 'Best'])
    expect(forge.pull().body).toMatch(new RegExp(`^Said last\\.\\n\\nCreated from card ${cardId} of the board\\.$`))
  })

  test('changes reviewers and labels, and fails if the forge rejects them', async () => {
    const names = ['--add-reviewer', 'ann', '--add-reviewer', 'bob', '--add-label', 'wall', '--add-label', 'roof']
    expect(await cli.board(['cards', 'pr', 'edit', cardId, ...names])).toMatchObject({
      code: 0,
      stderr: `Changed #2 of card ${cardId}.\n`,
    })
    expect(forge.pull()).toMatchObject({ reviewers: ['ann', 'bob'], labels: ['wall', 'roof'], title: 'Best' })
    const fewer = ['--remove-reviewer', 'ann', '--remove-label', 'wall', '--add-reviewer', 'nobody']
    const refused = await cli.board(['cards', 'pr', 'edit', cardId, ...fewer])
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('number\t2\n') as string })
    expect(refused.stderr).toMatch(
      /^board: the forge rejected some of the changes: GitHub answered with status 422: .*\n/,
    )
    expect(refused.stderr).toContain(`board cards pr view ${cardId} --web`)
    expect(forge.pull()).toMatchObject({ reviewers: ['bob'], labels: ['roof'] })
    const both = await cli.board(['cards', 'pr', 'edit', cardId, '--add-label', 'a', '--remove-label', 'a'])
    expect(both.stderr).toContain('removeLabels must not contain a, which is also in the list to add')
  })

  test('reports when to try again after a rate limit of the forge', async () => {
    forge.fail({ limit: { kind: 'secondary', seconds: 3600 } })
    const refused = await cli.board(['cards', 'pr', 'edit', cardId, '--title', 'Once more'])
    const [, until, secs] = /accepts no more requests before (\S+)\ntry again in (\d+) s\n$/.exec(refused.stderr)!
    expect(Math.abs(Date.now() + Number(secs) * 1000 - Date.parse(until!))).toBeLessThan(60_000)
    forge.behave()
  })

  test('continue resumes a pull request that was handed to a person', async () => {
    const row = (await readPullRequest(board.server.app.db, Number(cardId)))!
    await board.server.app.db.transaction(tx => change(tx, row, { stopped: 'It asks which color.', rounds: 5 }))
    expect(await cli.json(['cards', 'pr', 'view', cardId])).toMatchObject({ stopped: 'It asks which color.' })
    expect(await cli.board(['cards', 'pr', 'continue', cardId])).toMatchObject({
      code: 0,
      stderr: 'Resumed #2. Its agent receives the open feedback, if any.\n',
    })
    expect(await cli.json(['cards', 'pr', 'view', cardId])).toMatchObject({ stopped: null, rounds: 0 })
    expect(await cli.board(['cards', 'pr', 'continue', '999'])).toMatchObject({ code: 3 })
  })

  test('explains how to open a pull request for a card without one', async () => {
    const { id } = await board.client.cards.create({ projectId: board.projectId, title: 'Bare' })
    for (const command of [['continue'], ['merge'], ['close', '--yes'], ['view'], ['edit', '--draft']])
      expect([command, await cli.board(['cards', 'pr', command[0]!, id, ...command.slice(1)])]).toEqual([
        command,
        {
          code: 3,
          stdout: '',
          stderr: 'board: the card has no pull request\nsee: board cards pr create <card>\n',
        },
      ])
    const removing = await cli.board(['cards', 'worktree', id, '--remove'])
    expect([removing.code, removing.stderr]).toEqual([
      5,
      'board: the card has no worktree to remove. It gets one when its agent starts\n',
    ])
  })

  test('asks before it closes, and never without a terminal', async () => {
    expect(await cli.board(['cards', 'pr', 'close', cardId])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes') as string,
    })
    expect(await cli.board(['cards', 'pr', 'close', cardId, '--yes'])).toMatchObject({
      code: 0,
      stderr: 'Closed #2.\n',
    })
    expect(forge.pull(2).state).toBe('closed')
    expect(await cli.board(['cards', 'pr', 'create', cardId, '--editor'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--editor requires a terminal') as string,
    })
  })
})

test("the secret of the forge's webhook is shown once, and alone if it is written to a file", async () => {
  const { code, stdout, stderr } = await cli.board(['projects', 'forge', '--new-webhook-secret'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('not shown again') as string })
  expect(stdout).toMatch(new RegExp(`^url\\t${board.url}/api/forge-webhooks/${board.projectId}\\nsecret\\t\\S+\\n$`))
  const secret = /^secret\t(.+)$/m.exec(stdout)![1]!
  const next = await cli.ok(['projects', 'forge', '--new-webhook-secret', '-q'])
  expect(next).toMatch(/^\S+\n$/)
  expect(next.trim()).not.toBe(secret)
  expect(await cli.ok(['projects', 'forge', '--json'])).not.toContain(next.trim())
  const both = await cli.board(['projects', 'forge', '--new-webhook-secret', '--base', 'main'])
  expect(both).toMatchObject({ code: 2, stdout: '' })
})
