import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { deepestFolder, endRace, listContent, raceAll } from '../support/sandbox/race.ts'
import { eventually } from '../support/waiting/eventually.ts'

const left = 'what the agent of the first project left'
const key = 'sk-0123456789abcdef'
let board: AgentBoard
/** A folder outside of the data folder that the server's account can write. */
let outside: string
beforeAll(async () => {
  const scripted = { command: ['sh', 'run.sh'], protocol: 'command' as const, state: ['.qwen', '.config/tool'] }
  board = await startFolderBoard({ qwen: scripted, claude: scripted }, { sandbox: 'require' })
  outside = board.folder('outside')
})
afterAll(() => board.close())

/** Runs a script as the agent of a new card in a project's folder. Returns its output to `out`. */
async function run(projectId: string, path: string, script: string, profile?: string, agent = 'qwen'): Promise<string> {
  writeFileSync(join(path, 'run.sh'), `{ ${script}\n} > out 2>&1\necho done\n`)
  const columns = await board.client.columns.list({ projectId })
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'Work',
    prompt: 'Do it.',
    columnId: columns[1]!.id,
    agent,
    profile,
  })
  const { status, statusReason } = await eventually('the end of the agent', async () => {
    const card = await board.client.cards.get({ projectId, cardId })
    return ['completed', 'failed'].includes(card.status) ? card : undefined
  })
  if (status === 'failed') throw new Error(String(statusReason))
  return readFileSync(join(path, 'out'), 'utf8')
}

async function newProject(name: string, credentialId: string | null) {
  const path = board.folder(name)
  const { id } = await board.client.projects.create({ name, path })
  if (credentialId !== null)
    await board.client.credentials.choose({ projectId: id, credentialId: Number(credentialId) })
  return { run: (script: string, profile?: string, agent?: string) => run(id, path, script, profile, agent) }
}
const newCredential = async (name: string) =>
  (await board.client.credentials.create({ name, provider: 'openai', apiKey: key })).id
const newProfile = (name: string) =>
  board.client.agentProfiles.create({ name, agent: 'qwen', environment: { OPENAI_API_KEY: key } })

describe.skipIf(!hasBubblewrap)('the agents of two projects with one credential', () => {
  test('read the files that agents of their own project left in its home, and none of the other project', async () => {
    const credential = await newCredential('shared')
    const [one, other] = [await newProject('one', credential), await newProject('other', credential)]
    await one.run(`echo '${left}' > ~/left`)
    expect(await one.run('cat ~/left')).toContain(left)
    expect(await other.run('cat ~/left; grep -rs agent ~')).not.toContain(left)
  })

  test('read no files of the other project if a profile has the sign-in', async () => {
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

describe.skipIf(!hasBubblewrap)('a program that swaps folders, files and links of a home for links', () => {
  const rounds = 10
  const removeUnused = () =>
    periodicJobs(board.server.app)
      .find(({ name }) => name.startsWith('remove the homes of agents'))!
      .run(new AbortController().signal)

  test(
    'cannot make the server remove files outside the home',
    async () => {
      const victim = board.folder('victim')
      for (const at of Array(300).keys()) writeFile(join(victim, deepestFolder), `file-${at}`)
      const before = listContent(victim)
      for (let round = 0; round < rounds; round++) {
        const project = join(board.dataDir, 'agents/999', String(round))
        const home = join(project, 'home')
        for (const at of Array(300).keys()) writeFile(join(home, deepestFolder), `file-${at}`)
        await raceAll(home, victim)
        // A folder that is swapped during its removal can make it fail.
        await removeUnused().catch(() => {})
        endRace()
        expect(listContent(victim)).toEqual(before)
        await removeUnused()
        expect(existsSync(project)).toBe(false)
      }
    },
    rounds * 10_000,
  )

  const writeFile = (folder: string, name: string) => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, name), left)
  }
})

describe.skipIf(!hasBubblewrap)("the agents of two projects with the account's sign-in", () => {
  const ownHome = process.env.HOME
  let home: string
  beforeAll(() => {
    process.env.HOME = home = board.folder('account')
    mkdirSync(join(home, '.qwen/projects/own'), { recursive: true })
    writeFileSync(join(home, '.qwen/projects/own/chat'), left)
    writeFileSync(join(home, '.qwen/oauth_creds.json'), 'the sign-in')
  })
  afterAll(() => {
    process.env.HOME = ownHome
  })

  test('see the sign-in and the conversations of their own project, and no others', async () => {
    const [one, other] = [await newProject('account-one', null), await newProject('account-other', null)]
    await one.run(`mkdir -p ~/.qwen/projects/one; echo '${left}' > ~/.qwen/projects/one/chat`)
    expect(await one.run('cat ~/.qwen/oauth_creds.json ~/.qwen/projects/*/chat')).toBe(`the sign-in${left}\n`)
    expect(await other.run('cat ~/.qwen/oauth_creds.json; grep -rs agent ~')).toBe('the sign-in')
    expect(readdirSync(join(home, '.qwen/projects'))).toEqual(['own'])
  })

  test('see no other conversation if a variable names the folder of the program', async () => {
    const folder = join(home, 'claude')
    process.env.CLAUDE_CONFIG_DIR = folder
    try {
      mkdirSync(join(folder, 'projects/own'), { recursive: true })
      for (const name of ['projects/own/chat', 'settings.json']) writeFileSync(join(folder, name), left)
      const project = await newProject('account-variable', null)
      const found = await project.run('cd $CLAUDE_CONFIG_DIR; grep -rl agent .', undefined, 'claude')
      expect(found).toBe('./settings.json\n')
    } finally {
      delete process.env.CLAUDE_CONFIG_DIR
    }
  })

  test('do not start if the conversations are replaced by a link', async () => {
    const project = await newProject('account-link', null)
    rmSync(join(home, '.qwen/logs'), { recursive: true, force: true })
    symlinkSync('projects', join(home, '.qwen/logs'))
    await expect(project.run('true')).rejects.toThrow('launch_failed')
    rmSync(join(home, '.qwen/logs'))
  })
})
