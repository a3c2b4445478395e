import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { fixture } from '../support/agents/agent.ts'
import { startBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
const credentials = { openai: { key: 'OPENAI_API_KEY' } }
/** An agent with its conversations in its home. */
const command = ['sh', '-c', `FIXTURE_STATE="$HOME" exec '${process.execPath}' '${fixture('resumable')}'`]
const agents = {
  resumable: { command, credentials },
  forever: { fixture: 'forever', credentials },
  offering: { fixture: 'offering', credentials },
  qwen: { fixture: 'well-behaved' },
}
beforeAll(async () => {
  board = await startFolderBoard(agents)
})
afterAll(() => board.close())

const key = 'sk-0123456789abcdef'
const newCredential = async (name: string) =>
  (await board.client.credentials.create({ name, provider: 'openai', apiKey: key })).id
const folderOf = (owner: string, projectId = board.projectId) => join(board.dataDir, 'agents', owner, projectId)
const removeUnused = () =>
  periodicJobs(board.server.app)
    .find(({ name }) => name.startsWith('remove the homes of agents'))!
    .run(new AbortController().signal)

/** The agent of a card that is just completed might still be ending. */
const untilRemoved = (folder: string) =>
  eventually(`the removal of ${folder}`, async () => {
    await removeUnused()
    return !existsSync(folder)
  })

async function newProject(name: string, credentialId: string | null) {
  const { id: projectId } = await board.client.projects.create({ name, path: board.folder(name) })
  if (credentialId !== null) await board.client.credentials.choose({ projectId, credentialId: Number(credentialId) })
  const columns = await board.client.columns.list({ projectId })
  const start = async (agent: string, profile?: string) => {
    const input = { title: 'Work', prompt: 'Do it.', columnId: columns[1]!.id, agent, profile }
    const { id: cardId } = await board.client.cards.create({ projectId, ...input })
    const isCompleted = async () => (await board.client.cards.get({ projectId, cardId })).status === 'completed'
    await eventually('the agent at work, or its end', () =>
      agent === 'forever' ? board.processes().length > 0 : isCompleted(),
    )
    return cardId
  }
  return { projectId, start }
}

test("the homes of a deleted project are removed, and the other projects' homes remain", async () => {
  const id = await newCredential('projects')
  const [gone, kept] = [await newProject('gone', id), await newProject('kept', id)]
  await gone.start('resumable')
  await kept.start('resumable')
  const [goneFolder, keptFolder] = [folderOf(id, gone.projectId), folderOf(id, kept.projectId)]
  await removeUnused()
  expect([goneFolder, keptFolder].map(each => readdirSync(join(each, 'home')).length > 0)).toEqual([true, true])
  await board.client.projects.delete({ id: gone.projectId })
  await untilRemoved(goneFolder)
  expect(existsSync(keptFolder)).toBe(true)
})

test('the homes of a deleted credential are removed, but not while an agent uses them', async () => {
  const id = await newCredential('credentials')
  const { projectId, start } = await newProject('at work', id)
  await board.untilNoneRuns()
  const cardId = await start('forever')
  await board.client.credentials.delete({ id })
  await removeUnused()
  expect(existsSync(join(folderOf(id, projectId), 'home'))).toBe(true)
  await board.client.agents.cancel({ projectId, cardId })
  await untilRemoved(join(board.dataDir, 'agents', id))
})

test('the homes of a deleted profile with a sign-in are removed', async () => {
  const environment = { OPENAI_API_KEY: key }
  const profile = await board.client.agentProfiles.create({ name: 'Signed-in', agent: 'qwen', environment })
  const { projectId, start } = await newProject('profiles', null)
  await start('qwen', 'signed-in')
  const folder = folderOf('profile-Signed-in', projectId)
  await removeUnused()
  expect(existsSync(join(folder, 'home'))).toBe(true)
  await board.client.agentProfiles.delete({ id: profile.id })
  await untilRemoved(folder)
})

test('a check of a credential leaves no home', async () => {
  const id = await newCredential('checks')
  await board.client.agents.check({ agent: 'offering', credentialId: id })
  await eventually('the end of the check', async () => {
    const found = await board.client.agents.providers()
    return found.find(each => each.id === 'offering')!.check?.status === 'ok'
  })
  await eventually('the removal of its folder', () => readdirSync(join(board.dataDir, 'agents/checks')).length === 0)
  expect(existsSync(join(board.dataDir, 'agents', id))).toBe(false)
})

test('a start removes the homes of deleted projects and of unfinished checks, and follows no link in them', async () => {
  const dataDir = board.folder('restart')
  const before = await startFolderBoard(agents, { dataDir })
  const { projectId } = before
  await before.server.stop()
  const outside = join(board.folder('outside'), 'board-attachments-own')
  mkdirSync(outside)
  mkdirSync(join(dataDir, 'agents/account/999/home'), { recursive: true })
  symlinkSync(dirname(outside), join(dataDir, 'agents/account/999/home/tmp'))
  mkdirSync(join(dataDir, 'agents/checks/check-left/home'), { recursive: true })
  writeFileSync(join(dataDir, 'agents/checks/check-left/home/file'), '')
  mkdirSync(join(dataDir, 'agents/account', projectId, 'conversations'), { recursive: true })
  const after = await startBoard({ dataDir })
  expect(readdirSync(join(dataDir, 'agents/account'))).toEqual([projectId])
  expect(existsSync(outside)).toBe(true)
  expect(existsSync(join(dataDir, 'agents/checks'))).toBe(false)
  await after.close()
  await before.close()
})
