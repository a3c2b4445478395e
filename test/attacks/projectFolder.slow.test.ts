import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let path: string
let projectId: string
/** A file that exists if the owner's Git has run a program of the agent. */
let proof: string
let count = 0
beforeAll(async () => {
  const scripted = { command: ['sh', 'run.sh'], protocol: 'command' as const }
  board = await startFolderBoard({ qwen: scripted }, { sandbox: 'require' })
})
afterAll(() => board.close())

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=Owner', '-c', 'user.email=owner@example.org', ...args], {
    cwd: path,
    encoding: 'utf8',
  }).trim()

async function newProject(isRepository = true): Promise<void> {
  const name = `attacked-${++count}`
  path = board.folder(name)
  proof = join(board.folder('proofs'), name)
  if (isRepository) {
    git('init', '-q', '--initial-branch=main')
    writeFileSync(join(path, 'a'), 'a\n')
    git('add', 'a')
    git('commit', '-qm', 'First')
  }
  projectId = (await board.client.projects.create({ name, path })).id
}

/** Runs a script as the agent of a new card in the project's folder, with `$PROOF` for the file that it tries to write. */
async function attack(script: string, meanwhile = () => {}): Promise<void> {
  writeFileSync(
    join(path, 'run.sh'),
    `PROOF='${proof}'; touch ready; until test -e go; do sleep 0.05; done\n{ ${script}\n} > out 2>&1; echo done\n`,
  )
  const columns = await board.client.columns.list({ projectId })
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'Work',
    prompt: 'Do it.',
    columnId: columns[1]!.id,
    agent: 'qwen',
    useWorktree: false,
  })
  const reason = async () => (await board.client.cards.get({ projectId, cardId })).statusReason
  await eventually('the start of the agent', async () => {
    const problem = await reason()
    if (problem) throw new Error(problem)
    return existsSync(join(path, 'ready'))
  })
  meanwhile()
  writeFileSync(join(path, 'go'), '')
  await eventually('the end of the agent', async () => {
    const { status } = await board.client.cards.get({ projectId, cardId })
    return status === 'completed' || status === 'failed'
  })
}

/** Runs Git in the folder like its owner does. */
const useGit = () => {
  for (const command of [['status'], ['diff'], ['log'], ['branch'], ['submodule', 'status']])
    try {
      git(...command)
    } catch {
      /* The folder has no repository, or the attack broke it. */
    }
}
const monitor = `printf '#!/bin/sh\\necho ran > "%s"\\n' "$PROOF" > evil.sh; chmod +x evil.sh`

describe.skipIf(!hasBubblewrap)(
  "an agent in a project's folder does not get its program run by the owner's Git",
  () => {
    test.each([
      [
        'by the configuration',
        `git config core.fsmonitor "$PWD/evil.sh"; echo "[core] fsmonitor = $PWD/evil.sh" >> .git/config`,
      ],
      [
        'by a configuration in the place of the moved one',
        `mv .git/config .git/was; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = %s/evil.sh\\n' "$PWD" > .git/config`,
      ],
      ['by another Git folder', `mv .git was; cp -r was .git; git -C .git config core.fsmonitor "$PWD/evil.sh"`],
      [
        'by a common folder',
        `mkdir common; cp -r .git/. common; git config -f common/config core.fsmonitor "$PWD/evil.sh"; echo ../common > .git/commondir`,
      ],
    ])('%s', async (_, script) => {
      await newProject()
      await attack(`${monitor}\n${script}`, () => git('config', 'user.name', 'Owner'))
      useGit()
      expect(existsSync(proof)).toBe(false)
      git('config', 'core.fsmonitor', join(path, 'evil.sh'))
      useGit()
      expect(existsSync(proof)).toBe(true)
    })

    test('by the Git folder of a submodule', async () => {
      await newProject()
      const inner = board.folder(`inner-${count}`)
      execFileSync('git', ['clone', '-q', '--bare', path, inner])
      git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', inner, 'inner')
      git('commit', '-qm', 'Add inner')
      await attack(
        `${monitor}\nmv .git/modules .git/was; cp -r .git/was .git/modules; git config -f .git/modules/inner/config core.fsmonitor "$PWD/evil.sh"`,
        () => git('-C', 'inner', 'config', 'user.name', 'Owner'),
      )
      useGit()
      expect(existsSync(proof)).toBe(false)
    })

    test('by a repository that it creates', async () => {
      await newProject(false)
      await attack(`${monitor}\ngit init -q .; git config core.fsmonitor "$PWD/evil.sh"`)
      useGit()
      expect(existsSync(proof)).toBe(false)
      await eventually('the removal of the mount point', () => !readdirSync(path).includes('.git'))
    })
  },
)

describe.skipIf(!hasBubblewrap)("an agent in a project's folder leads the server's Git nowhere else", () => {
  test('by a reflog that is a link, and a merge that appends to it', async () => {
    await newProject()
    const secret = join(board.folder('secrets'), `secret-${count}`)
    writeFileSync(secret, 'secret')
    await attack(
      `mkdir -p .git/logs/refs/heads; for log in HEAD refs/heads/main; do rm -f .git/logs/$log; ln -s '${secret}' .git/logs/$log; done`,
    )
    const head = git('rev-parse', 'HEAD')
    git('update-ref', '-m', 'appended', 'refs/heads/main', git('commit-tree', '-p', head, '-m', 'x', 'HEAD^{tree}'))
    expect(readFileSync(secret, 'utf8')).toBe('secret')
  })

  test('by another store of objects', async () => {
    await newProject()
    const victim = board.folder(`victim-${count}`)
    mkdirSync(join(victim, 'objects'))
    await attack(`mkdir -p .git/objects/info; echo '${victim}/objects' > .git/objects/info/alternates`)
    expect(existsSync(join(path, '.git/objects/info/alternates'))).toBe(false)
  })
})
