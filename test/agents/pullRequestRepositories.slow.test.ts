import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeRepository } from '../support/agents/agentBoard.ts'
import { startRequestBoard, type RequestBoard } from '../support/agents/requestBoard.ts'
import { FakeForge } from '../support/forge/fakeForge.ts'
import { oneHost } from '../support/forge/oneHost.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: RequestBoard
let lib: FakeForge
let host: Awaited<ReturnType<typeof oneHost>>
beforeAll(async () => {
  board = await startRequestBoard({ both: { fixture: 'requested', env: { REQUESTED_BESIDE: 'lib' } } })
  const { client, projectId, forge } = board
  const path = makeRepository(board.folder('lib'))
  lib = await FakeForge.start({ kind: 'github', folder: board.folder('lib-forge'), from: path, name: 'lib' })
  lib.addToken(lib.login, forge.token)
  host = await oneHost(forge, lib)
  board.git('remote', 'set-url', 'origin', `${host.url}/acme/site.git`)
  execFileSync('git', ['-C', path, 'remote', 'add', 'origin', `${host.url}/acme/lib.git`])
  const access = { name: 'All', provider: 'github', apiKey: forge.token, baseUrl: host.url } as const
  const { id: credentialId } = await client.credentials.create(access)
  await client.projects.update({ id: projectId, repositories: [{ name: 'lib', path }], forge: { credentialId } })
})
afterAll(async () => {
  await board.close()
  await lib.close()
  await host.close()
})

const nextHead = (forge: FakeForge, before: string) =>
  eventually('a new head', () => {
    const { headSha } = forge.state.pulls.at(-1)!
    return headSha === before ? undefined : headSha
  })

test('a card has a pull request in each repository it changes: its agent fixes both, and it is done when the last is merged', async () => {
  const { forge, projectId, client } = board
  const card = await board.opened('both')
  const place = { projectId, cardId: card.id }
  await client.pullRequests.create({ ...place, repository: 'lib' })
  expect(await client.pullRequests.get({ ...place, repository: 'lib' })).toMatchObject({ state: 'open', base: 'main' })
  expect((await client.pullRequests.list({ projectId })).map(({ repository }) => repository).toSorted()).toEqual([
    '',
    'lib',
  ])
  const [home, beside] = [forge.pull().headSha, lib.pull().headSha]
  lib.setCheck(beside, 'build', 'failure', 'error: no roof\n')
  // The agent fixed the feedback of one repository in both.
  const [homeNext, besideNext] = await Promise.all([nextHead(forge, home), nextHead(lib, beside)])
  expect(forge.repository.read(homeNext, 'work.txt')).toBe('one\nfixed')
  expect(lib.repository.read(besideNext, 'work.txt')).toBe('one\nfixed')
  const [said] = (await board.messages(card.id)).filter(({ content }) => content.includes('no roof'))
  expect(said!.content).toContain('in the repository lib')

  const worktrees = [join(board.dataDir, 'worktrees', projectId, card.id)]
  worktrees.push(join(`${worktrees[0]!}.repositories`, 'lib'))
  expect(worktrees.map(existsSync)).toEqual([true, true])
  forge.squashByHand(forge.pull().number)
  await board.untilPull(card, 'its merge', ({ state, phase }) => state === 'merged' && phase === 'finished')
  expect((await board.card(card.id)).columnName).toBe('In Progress')
  expect(worktrees.map(existsSync)).toEqual([true, true])
  lib.squashByHand(lib.pull().number)
  await board.until(card.id, 'its end', ({ columnName }) => columnName === 'Done')
  await eventually('the end of its worktrees', () => !worktrees.some(existsSync))
})
