import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startWebProject, type WebProject } from '../support/servers/webProject.ts'

let { server, cli, projectId, close } = {} as WebProject

beforeAll(async () => {
  ;({ server, cli, projectId, close } = await startWebProject())
})
afterAll(() => close())

/** Adds a card through the API and returns its id. */
const newCard = async (title: string, more: { columnId?: string; prompt?: string; labels?: string[] } = {}) =>
  (await server.client.cards.create({ projectId, title, deferred: true, ...more })).id
const columnId = async (name: string) =>
  (await server.client.columns.list({ projectId })).find(column => column.name === name)!.id
const titlesIn = async (column: string) =>
  (await server.client.cards.list({ projectId, columnId: await columnId(column), offset: 0 })).map(({ title }) => title)

describe('adding', () => {
  test('a card reads its prompt from stdin, its column by name in any case, and its labels', async () => {
    const id = (
      await cli.ok(['cards', 'add', 'Piped', '-c', 'in progress', '--prompt-file', '-', '-l', 'a', '-l', 'b', '-q'], {
        input: 'first line\nsecond line\n',
      })
    ).trim()
    expect(await server.client.cards.getFlat({ id })).toMatchObject({
      title: 'Piped',
      prompt: 'first line\nsecond line',
      columnName: 'In Progress',
      labels: ['a', 'b'],
      deferred: true,
      useWorktree: true,
    })
  })

  test('a title can have any characters', async () => {
    const title = '$(touch x) `y` "q" \'s\' ; -- %s \\n \u001b[31m'
    const id = (await cli.ok(['cards', 'add', '-q', '--', title])).trim()
    expect((await server.client.cards.getFlat({ id })).title).toBe(title)
    const shown = await cli.ok(['cards', 'view', id], { env: { BOARD_FORCE_TTY: '1' } })
    expect(shown).not.toContain('\u001b[31m')
  })

  test('--unless-exists prints the existing card with the title', async () => {
    const args = ['cards', 'add', 'Only 100% once_', '--unless-exists', '-q']
    const first = await cli.ok(args)
    await newCard('Only 100% once_ more')
    expect(await cli.ok(args)).toBe(first)
    expect(await cli.ok([...args, '-c', 'Done'])).not.toBe(first)
  })

  test('a repeated --idempotency-key does not create a second card', async () => {
    const args = ['cards', 'add', 'Keyed', '--idempotency-key', 'nightly-1', '-q']
    expect(await cli.ok(args)).toBe(await cli.ok(args))
  })

  test('--run moves the card into the first active column', async () => {
    const { id } = await cli.json<{ id: string }>(['cards', 'add', 'Runs', '--terminal', 'true', '--run'])
    expect(await cli.json(['cards', 'view', id])).toMatchObject({ columnName: 'In Progress', deferred: false })
  })

  test('--run adds no card whose agent cannot start, and reports it', async () => {
    const { code, stdout, stderr } = await cli.board(['cards', 'add', 'Waits', '--run', '--json'])
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('no agent is installed on the server')])
    expect(await cli.ok(['cards', 'list', '--search', 'Waits', '-q'])).toBe('')
  })

  test('an unknown column exits with 3 and suggests a similar name', async () => {
    const { code, stderr, stdout } = await cli.board(['cards', 'add', 'x', '-c', 'Bakclog'])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toBe('board: there is no column "Bakclog"\ndid you mean: Backlog\nsee: board columns list\n')
  })
})

describe('listing', () => {
  test('a pipe gets tab-separated lines without a header, a terminal an aligned table', async () => {
    const id = await newCard('Listed', { labels: ['here'] })
    const [piped, drawn] = await Promise.all([
      cli.ok(['cards', 'list', '-l', 'here']),
      cli.ok(['cards', 'list', '-l', 'here'], { env: { BOARD_FORCE_TTY: '1', NO_COLOR: '1' } }),
    ])
    expect(piped).toMatch(new RegExp(`^${id}\tListed\tBacklog\tidle\there\t\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z\n$`))
    expect(drawn.split('\n')[0]).toMatch(/^ *ID  TITLE   COLUMN   STATUS  LABELS  UPDATED$/)
  })

  test('--json selects fields, and an unknown field gets a suggestion', async () => {
    await newCard('Picked', { labels: ['pick'] })
    const [picked, wrong] = await Promise.all([
      cli.ok(['cards', 'list', '-l', 'pick', '--json', 'title,columnName']),
      cli.board(['cards', 'list', '--json', 'titel']),
    ])
    expect(JSON.parse(picked)).toEqual([{ title: 'Picked', columnName: 'Backlog' }])
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('did you mean: title')
  })

  test('a column is listed in its order over several pages with --all; without it, the remaining number is shown', async () => {
    const boardId = (await server.client.boards.list({ projectId }))[0]!.id
    const columnId = (await server.client.columns.create({ projectId, boardId, name: 'Long', columnType: 'done' })).id
    await Promise.all(Array.from({ length: 1005 }, (_, at) => newCard(`Long ${at}`, { columnId })))
    const last = (await server.client.cards.list({ projectId, columnId, offset: 1000 })).at(-1)!.id
    await cli.ok(['cards', 'move', last, '--top'])
    const [page, all] = await Promise.all([
      cli.board(['cards', 'list', '-c', 'Long']),
      cli.json<{ id: string; position: number }[]>(['cards', 'list', '-c', 'Long', '--all']),
    ])
    expect(all.map(({ position }) => position)).toEqual(Array.from({ length: 1005 }, (_, at) => at))
    expect(all[0]!.id).toBe(last)
    expect(new Set(all.map(({ id }) => id)).size).toBe(1005)
    expect(page.stdout.split('\n')).toHaveLength(101)
    expect(page.stderr).toContain('--all lists every card')
  })

  test('an empty column is not requested', async () => {
    const { id } = await server.client.projects.create({ name: 'Few', path: server.folder('few') })
    await server.client.cards.create({ projectId: id, title: 'One', deferred: true })
    const listed = /^board_request_seconds_count\{method="GET",route="\S+}\/cards",status="200"\} (\d+)$/m
    const requests = async () => Number(listed.exec((await server.request('GET', '/metrics')).text)![1])
    const before = await requests()
    expect(await cli.ok(['cards', 'list', '-P', id])).toContain('One')
    expect((await requests()) - before).toBe(1)
  })

  test('an unknown status is a usage error that names the known ones', async () => {
    const { code, stderr } = await cli.board(['cards', 'list', '--status', 'done'])
    expect(code).toBe(2)
    expect(stderr).toContain('completed')
  })

  test('--watch without a terminal names the alternative', async () => {
    const { code, stderr } = await cli.board(['cards', 'list', '--watch'])
    expect(code).toBe(2)
    expect(stderr).toContain('board events')
  })
})

describe('moving', () => {
  test('several cards keep the order of the arguments', async () => {
    const ids = [await newCard('m1'), await newCard('m2'), await newCard('m3')]
    await newCard('m0', { columnId: await columnId('Done') })
    expect(await cli.ok(['cards', 'move', ...ids, '--to', 'done', '--top'])).toBe(
      ids.map(id => `${id}\tmoved\n`).join(''),
    )
    expect((await titlesIn('Done')).slice(0, 3)).toEqual(['m1', 'm2', 'm3'])
    await cli.ok(['cards', 'move', ids[2]!, '--position', '1'])
    expect((await titlesIn('Done')).slice(0, 3)).toEqual(['m1', 'm3', 'm2'])
  })

  test('--dry-run changes nothing, and reports missing cards', async () => {
    const id = await newCard('Stays')
    const { code, stdout, stderr } = await cli.board(['cards', 'move', id, '9999', '--to', 'done', '--dry-run'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: `${id}\twould be moved to done\n` })
    expect(stderr).toContain('9999: card not found')
    expect(await titlesIn('Done')).not.toContain('Stays')
  })

  test('a list pipes into a bulk command', async () => {
    await Promise.all([newCard('p1', { labels: ['pipe'] }), newCard('p2', { labels: ['pipe'] })])
    const ids = await cli.ok(['cards', 'list', '-l', 'pipe', '-q'])
    expect(await cli.ok(['cards', 'archive', '-'], { input: ids })).toBe(ids.replaceAll('\n', '\tarchived\n'))
    expect(await cli.ok(['cards', 'list', '-l', 'pipe', '-q', '--archived'])).toBe(ids)
  })

  test('an ambiguous name means the column of the default board, and otherwise the candidates are listed', async () => {
    const boards = await Promise.all(
      ['Second', 'Third'].map(name => server.client.boards.create({ projectId, name, templateId: '2' })),
    )
    const id = await newCard('Which')
    await cli.ok(['cards', 'move', id, '--to', 'Done'])
    expect(await titlesIn('Done')).toContain('Which')
    const { code, stderr } = await cli.board(['cards', 'move', id, '--to', 'Review'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/several columns are named "Review"\nuse an ID: \d+, \d+/)
    for (const { id: boardId } of boards) await server.client.boards.delete({ projectId, boardId })
  })
})

describe('changing', () => {
  test('labels are added and removed, and nothing else changes', async () => {
    const id = await newCard('Labelled', { labels: ['old', 'kept'], prompt: 'p' })
    await cli.ok(['cards', 'edit', id, '--add-label', 'new', '--remove-label', 'old'])
    expect(await server.client.cards.getFlat({ id })).toMatchObject({
      title: 'Labelled',
      prompt: 'p',
      labels: ['kept', 'new'],
    })
  })

  test('labels that many users add concurrently are all kept', async () => {
    const id = await newCard('Crowded')
    await Promise.all(['a', 'b', 'c'].map(label => cli.ok(['cards', 'edit', id, '--add-label', label])))
    expect([...(await server.client.cards.getFlat({ id })).labels].sort()).toEqual(['a', 'b', 'c'])
  })

  test('an update without changes is a usage error', async () => {
    expect(await cli.board(['cards', 'edit', '1'])).toMatchObject({ code: 2, stdout: '' })
  })

  test('--editor requires a terminal', async () => {
    const { code, stderr } = await cli.board(['cards', 'edit', '1', '--editor'], { env: { EDITOR: 'true' } })
    expect(code).toBe(2)
    expect(stderr).toContain('--prompt-file')
  })

  test('deleting asks, so without a terminal it requires --yes; then restore brings the card back', async () => {
    const id = await newCard('Gone')
    const refused = await cli.board(['cards', 'delete', id])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('--yes')
    await cli.ok(['cards', 'delete', id, '--yes'])
    expect((await cli.board(['cards', 'view', id])).code).toBe(3)
    await cli.ok(['cards', 'restore', id])
    expect(await cli.ok(['cards', 'view', id, '--json', 'title'])).toBe('{"title":"Gone"}\n')
  })

  test.each([
    [['1', '--board', 'Board'], '--board applies only to the list'],
    [['1', '--limit', '3'], '--limit applies only to the list'],
    [['1', '--all'], '--all applies only to the list'],
    [['--force'], '--force requires the cards to restore'],
  ])('restore rejects the options %j, which have no effect there', async (words, reason) => {
    const { code, stderr } = await cli.board(['cards', 'restore', ...words])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(reason) })
  })

  test('a printed pipeline can be set again, also with columns by name', async () => {
    const id = await newCard('Piped steps')
    const steps = await cli.ok(['cards', 'pipeline', id, '--json'])
    await cli.ok(['cards', 'pipeline', id, '--set', '-'], {
      input: JSON.stringify([{ column: 'in progress', prompt: 'Do it', approval: 'manual' }]),
    })
    expect((await server.client.cards.getPipeline({ projectId, cardId: id })).steps).toMatchObject([
      { columnName: 'In Progress', prompt: 'Do it', approval: 'manual' },
    ])
    await cli.ok(['cards', 'pipeline', id, '--set', '-'], { input: steps })
    expect(await cli.ok(['cards', 'pipeline', id, '--json'])).toBe(steps)
  })

  test('run accepts -y, like move', async () => {
    expect(await cli.board(['cards', 'run', '999999', '-y'])).toMatchObject({ code: 3 })
  })

  test('complete, read and auto complete, mark as read, and set auto mode', async () => {
    const id = await newCard('Done soon')
    await cli.ok(['cards', 'auto', id, 'on'])
    await cli.ok(['cards', 'complete', id])
    await cli.ok(['cards', 'read', id])
    expect(await server.client.cards.getFlat({ id })).toMatchObject({
      columnType: 'done',
      autoMode: true,
      unread: false,
    })
  })
})

describe('attachments', () => {
  test('a file is uploaded and downloaded verbatim, under its own name', async () => {
    const id = await newCard('With files')
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 251))
    writeFileSync(join(cli.home, 'a "b" c.bin'), bytes)
    const [file] = await cli.json<{ id: string; filename: string; size: number }[]>([
      'cards',
      'attach',
      id,
      'a "b" c.bin',
    ])
    expect(file).toMatchObject({ size: bytes.length })
    expect(await cli.ok(['cards', 'attachments', id, '-q'])).toBe(`${file!.id}\n`)
    const folder = server.folder('downloads')
    const path = (await cli.ok(['cards', 'download', file!.id], { cwd: folder })).trim()
    expect(readFileSync(join(folder, path))).toEqual(bytes)
    const again = await cli.board(['cards', 'download', file!.id], { cwd: folder })
    expect({ code: again.code, hint: again.stderr.includes('-o') }).toEqual({ code: 5, hint: true })
    await cli.ok(['cards', 'download', file!.id, '-o', 'copy'], { cwd: folder })
    expect(readFileSync(join(folder, 'copy'))).toEqual(bytes)
  })

  test('a missing file is a usage error, and nothing is uploaded', async () => {
    const id = await newCard('No file')
    writeFileSync(join(cli.home, 'there'), 'x')
    expect((await cli.board(['cards', 'attach', id, 'there', 'missing'])).code).toBe(2)
    expect(await cli.ok(['cards', 'attachments', id])).toBe('')
  })

  test('a failed download leaves no file', async () => {
    expect((await cli.board(['cards', 'download', '9999', '-o', 'nothing'])).code).toBe(3)
    expect(existsSync(join(cli.home, 'nothing'))).toBe(false)
  })
})

test('a card is found by its id alone if there is no current project', async () => {
  const other = await server.client.projects.create({ name: 'other', path: server.folder('other') })
  const card = await server.client.cards.create({ projectId: other.id, title: 'Elsewhere' })
  expect(await cli.ok(['cards', 'view', card.id, '--json', 'title'], { env: { BOARD_PROJECT: '' } })).toBe(
    '{"title":"Elsewhere"}\n',
  )
  expect((await cli.board(['cards', 'view', card.id, '-P', 'web'])).code).toBe(3)
})
