import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

const left = 'what the agent of the first project left'
const key = 'sk-0123456789abcdef'
let board: AgentBoard
/** A folder outside of the data folder that the server's account can write. */
let outside: string
beforeAll(async () => {
  const scripted = { command: ['sh', 'run.sh'], protocol: 'command' as const, state: ['.config/tool'] }
  board = await startFolderBoard({ qwen: scripted }, { sandbox: 'require' })
  outside = board.folder('outside')
})
afterAll(() => board.close())

/** Runs a script as the agent of a new card in a project's folder. Returns what it printed to `out`. */
async function run(projectId: string, path: string, script: string, profile?: string): Promise<string> {
  writeFileSync(join(path, 'run.sh'), `{ ${script}\n} > out 2>&1\necho done\n`)
  const columns = await board.client.columns.list({ projectId })
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'Work',
    prompt: 'Do it.',
    columnId: columns[1]!.id,
    agent: 'qwen',
    profile,
  })
  await eventually(
    'the end of the agent',
    async () => (await board.client.cards.get({ projectId, cardId })).status === 'completed',
  )
  return readFileSync(join(path, 'out'), 'utf8')
}

async function newProject(name: string, credentialId: string | null) {
  const path = board.folder(name)
  const { id } = await board.client.projects.create({ name, path })
  if (credentialId !== null)
    await board.client.credentials.choose({ projectId: id, credentialId: Number(credentialId) })
  return { run: (script: string, profile?: string) => run(id, path, script, profile) }
}
const newCredential = async (name: string) =>
  (await board.client.credentials.create({ name, provider: 'openai', apiKey: key })).id
const newProfile = (name: string) =>
  board.client.agentProfiles.create({ name, agent: 'qwen', environment: { OPENAI_API_KEY: key } })

describe.skipIf(!hasBubblewrap)('two projects that use one credential', () => {
  test('read what the agents of their own project left in its home, and nothing of the other project', async () => {
    const credential = await newCredential('shared')
    const [one, other] = [await newProject('one', credential), await newProject('other', credential)]
    await one.run(`echo '${left}' > ~/left`)
    expect(await one.run('cat ~/left')).toContain(left)
    expect(await other.run('cat ~/left; grep -rs agent ~')).not.toContain(left)
  })

  test('read nothing of the other project if a profile holds the sign-in', async () => {
    await newProfile('signed-in')
    const [one, other] = [await newProject('profile-one', null), await newProject('profile-other', null)]
    await one.run(`echo '${left}' > ~/left`, 'signed-in')
    expect(await one.run('cat ~/left', 'signed-in')).toContain(left)
    expect(await other.run('cat ~/left; grep -rs agent ~', 'signed-in')).not.toContain(left)
  })
})

describe.skipIf(!hasBubblewrap)('an agent that replaces folders of its home by links', () => {
  test('has no settings.json written through the link', async () => {
    const project = await newProject('settings', await newCredential('linked'))
    expect(await project.run('cat ~/.qwen/settings.json')).toContain('usageStatisticsEnabled')
    await project.run(`rm -r ~/.qwen; ln -s '${outside}' ~/.qwen`)
    expect(await project.run('readlink ~/.qwen')).toContain(outside)
    expect(readdirSync(outside)).toEqual([])
  })

  test('has no folder of its state created through the link', async () => {
    await newProfile('linked')
    const project = await newProject('state', null)
    await project.run(`rm -rf ~/.config; ln -s '${outside}' ~/.config`, 'linked')
    expect(await project.run('readlink ~/.config', 'linked')).toContain(outside)
    expect(existsSync(join(outside, 'tool'))).toBe(false)
  })
})
