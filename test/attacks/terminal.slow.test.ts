import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { fileBody } from '../support/contract/seed.ts'

/** Text that clears a screen, sets a window title, queries the terminal, writes the clipboard, creates links and reverses the writing direction. */
const hostile =
  'evil\u001b[2J\u001b]0;owned\u0007\u001b[6n\u001b]52;c;b3duZWQ=\u0007\u001b]8;;http://evil.example\u001b\\\u009b31m\u202e\u2028\u0008\u007f\rgone'
let server: TestBoard
let cli: CommandLine
let projectId: string
let cardId: string
let folder: string

beforeAll(async () => {
  server = await startBoard()
  const { client } = server
  folder = server.folder('project')
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token })
  projectId = (await client.projects.create({ name: hostile, path: folder })).id
  Object.assign(cli.env, { BOARD_PROJECT: projectId })
  mkdirSync(join(folder, hostile.replaceAll('/', '_')))
  writeFileSync(join(folder, 'hostile.txt'), hostile)
  const [board] = await client.boards.create({ projectId, name: hostile }).then(() => client.boards.list({ projectId }))
  await client.columns.create({ projectId, boardId: board!.id, name: hostile, columnType: 'backlog', prompt: hostile })
  cardId = (
    await client.cards.create({ projectId, title: hostile, prompt: hostile, labels: [hostile], groupId: hostile })
  ).id
  await server.request(
    'POST',
    `/api/projects/${projectId}/cards/${cardId}/attachments`,
    fileBody('evil\u202e%1b[2J.txt', 'x'),
  )
  const script = await client.scripts.create({
    projectId,
    name: hostile,
    command: `printf '%s' 'evil\u001b[2J\u001b]0;owned\u0007\u009b31m'; exit 3`,
  })
  await client.scripts.run({ projectId, scriptId: script.id })
  await client.templates.create({ name: hostile, columns: [{ name: hostile, columnType: 'done', prompt: hostile }] })
  await client.organizations.create({ name: hostile })
  await client.keys.create({ name: hostile, scope: 'project', projectId, permissions: ['cards.read'] })
  await client.credentials.create({
    name: hostile,
    provider: 'custom',
    baseUrl: 'http://127.0.0.1:1',
    apiKey: 'sk-some-0123456789',
  })
  await client.webhooks.create({ projectId, url: 'http://127.0.0.1:1/x', events: ['card.moved'], description: hostile })
  await client.auth.setup({ email: 'ada@example.org', password: 'correct horse', displayName: hostile })
  await eventually("the script's end", async () =>
    (await client.scripts.status({ projectId })).every(({ status }) => status !== 'running'),
  )
})
afterAll(async () => {
  cli.close()
  await server.close()
})

const commands = (): string[][] => [
  ['status'],
  ['search', 'evil'],
  ['stats'],
  ['whoami'],
  ['cards', 'list'],
  ['cards', 'view', cardId],
  ['cards', 'attachments', cardId],
  ['cards', 'pipeline', cardId],
  ['projects', 'list'],
  ['projects', 'view'],
  ['boards', 'list'],
  ['columns', 'list'],
  ['templates', 'list'],
  ['orgs', 'list'],
  ['keys', 'list'],
  ['credentials', 'list'],
  ['webhooks', 'list'],
  ['scripts', 'list'],
  ['scripts', 'status'],
  ['users', 'list'],
  ['fs', 'ls', folder],
  ['logs'],
  ['cards', 'move', '999999', '-c', 'nowhere'],
  ['cards', 'view', hostile.replaceAll('\r', '')],
]
// oxlint-disable-next-line no-control-regex -- the pattern matches terminal control characters
const steers = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e\u2028]/

it('foreign names, text and output do not control the terminal of any command that shows them', async () => {
  const open = commands()
  const steered: string[] = []
  const seen = new Set<string>()
  const environments: Array<Record<string, string>> = [{ BOARD_FORCE_TTY: '160', NO_COLOR: '1' }, {}]
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let args = open.shift(); args; args = open.shift())
        for (const env of environments) {
          const { stdout, stderr } = await cli.board(args, { env })
          if (steers.test(stdout + stderr))
            steered.push(`${args.join(' ')}: ${JSON.stringify((stdout + stderr).slice(0, 500))}`)
          if (stdout.includes('evil')) seen.add(args.join(' '))
        }
    }),
  )
  expect(steered).toEqual([])
  // Each list has shown its planted text.
  expect(seen.size).toBeGreaterThan(16)
})
