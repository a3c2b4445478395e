import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWebProject, type WebProject } from '../support/servers/webProject.ts'

let web: WebProject
beforeAll(async () => {
  web = await startWebProject()
})
afterAll(() => web.close())

const add = async (title: string, columnId?: string) =>
  (await web.server.client.cards.create({ projectId: web.projectId, title, columnId })).id
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)
const ids = async (...args: string[]) =>
  (await web.cli.ok(['cards', 'restore', ...args, '-q'])).split('\n').slice(0, -1)

test('cards restore without cards lists the deleted cards, newest deletion first, with the command that restores one', async () => {
  const { cli, server, projectId } = web
  expect(await cli.board(['cards', 'restore'])).toMatchObject({ code: 0, stdout: '' })
  const [first, second, kept, expired] = [await add('First'), await add('Second'), await add('Kept'), await add('Old')]
  const { id: boardId } = await server.client.boards.create({ projectId, name: 'Next' })
  const { id: columnId } = (await server.client.columns.list({ projectId, boardId }))[0]!
  const other = await add('Elsewhere', columnId)
  for (const id of [expired, first, second, other]) await cli.ok(['cards', 'delete', id, '--yes'])
  await server.server.app.db.transaction(tx =>
    tx.run('UPDATE cards SET deleted_at = ? WHERE id = ?', [
      new Date(Date.now() - 30 * 86_400_000 - 1).toISOString(),
      Number(expired),
    ]),
  )

  const listed = await cli.board(['cards', 'restore'])
  expect(listed.stdout.split('\n').map(line => line.split('\t'))).toEqual([
    [other, 'Elsewhere', 'Backlog', isoTime, isoTime],
    [second, 'Second', 'Backlog', isoTime, isoTime],
    [first, 'First', 'Backlog', isoTime, isoTime],
    [''],
  ])
  expect(listed.stderr).toBe(`Restore a card: board cards restore ${other}\n`)
  const [card] = await cli.json<{ deletedAt: string; restorableUntil: string }[]>(['cards', 'restore', '--limit', '1'])
  expect(Date.parse(card!.restorableUntil) - Date.parse(card!.deletedAt)).toBe(30 * 86_400_000)
  expect(await ids('--board', 'Next')).toEqual([other])
  expect(await ids('--limit', '2')).toEqual([other, second])
  expect((await cli.board(['cards', 'restore', '--limit', '2'])).stderr).toContain('--all lists every card')
  expect(await ids('--all')).toEqual([other, second, first])
  expect(await cli.board(['cards', 'restore', first, '--board', 'Next'])).toMatchObject({ code: 2 })

  await cli.ok(['cards', 'restore', '-'], { input: `${first}\n${second}\n` })
  expect(await ids()).toEqual([other])
  expect(await cli.ok(['cards', 'view', kept, '--jq', '.title'])).toBe('Kept\n')
})

test('completion offers the deleted cards', async () => {
  const { cli } = web
  const [{ id, title }] = (await cli.json<{ id: string; title: string }[]>(['cards', 'restore'])) as [
    { id: string; title: string },
  ]
  expect(await cli.ok(['__complete', '--', 'cards', 'restore', ''])).toContain(`${id}\t${title}\n`)
})
