import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fakeBrowser } from '../support/browsers/fakeBrowser.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

describe('the page of the board', () => {
  let board: TestBoard
  let cli: CommandLine
  let projectId: string
  let cardId: string

  beforeAll(async () => {
    board = await startBoard()
    projectId = (await board.client.projects.create({ name: 'work', path: board.folder('work') })).id
    const [column] = await board.client.columns.list({ projectId })
    cardId = (await board.client.cards.create({ projectId, columnId: column!.id, title: 'Shown' })).id
    cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: projectId })
  })
  afterAll(async () => {
    cli.close()
    await board.close()
  })

  test.each([
    ['what waits', ['browse'], () => '/'],
    ['a board', ['browse', 'board'], () => `/projects/${projectId}`],
    ['a board', ['cards', 'list', '--web'], () => `/projects/${projectId}`],
    ['a board', ['projects', 'view', '--web'], () => `/projects/${projectId}`],
    ['a card', ['browse', 'card', 'ID'], () => `/projects/${projectId}/cards/${cardId}`],
    ['a card', ['cards', 'view', 'ID', '--web'], () => `/projects/${projectId}/cards/${cardId}`],
    ['a diff', ['browse', 'diff', 'ID'], () => `/projects/${projectId}/cards/${cardId}/changes`],
    ['a diff', ['cards', 'diff', 'ID', '--web'], () => `/projects/${projectId}/cards/${cardId}/changes`],
    [
      'a diff since a review',
      ['cards', 'diff', 'ID', '--since', '3', '--web'],
      () => `/projects/${projectId}/cards/${cardId}/changes/since/3`,
    ],
  ])('%s has an address, which is printed without a ticket in a pipe: board %j', async (_, words, path) => {
    const args = words.map(word => (word === 'ID' ? cardId : word))
    expect(await cli.ok(args)).toBe(`${board.url}/#${path()}\n`)
    expect(await cli.json([...args])).toEqual({ url: `${board.url}/#${path()}` })
  })

  test('opens signed in, and no argument of a program contains the ticket', async () => {
    const browser = fakeBrowser(cli.home)
    const opened = await cli.board(['cards', 'view', cardId, '--web'], {
      env: { BOARD_FORCE_TTY: '100', BROWSER: browser.command },
    })
    const path = `/projects/${projectId}/cards/${cardId}`
    expect(opened).toMatchObject({ code: 0, stdout: '', stderr: `Opened ${board.url}/#${path}\n` })
    const { asked, sentTo } = await browser.visited()
    expect(asked).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}\?open$/)
    const [, ticket = ''] = /#\/ticket\/([\w-]+)/.exec(sentTo) ?? []
    expect(sentTo).toBe(`${board.url}/#/ticket/${ticket}${path}`)
    expect(asked).not.toContain(ticket)
    const { token, user } = await board.as('').auth.redeemTicket({ ticket })
    expect(user.displayName).toBe('Local operator')
    expect((await board.as(token).auth.me()).role).toBe('super_admin')
  })

  test('is printed with a ticket on a terminal where no browser can be opened', async () => {
    const { code, stdout, stderr } = await cli.board(['browse'], {
      env: { BOARD_FORCE_TTY: '100', BROWSER: join(cli.home, 'missing') },
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('signs you in once, within a minute') })
    const ticket = /#\/ticket\/([\w-]+)\/$/m.exec(stdout)?.[1]
    expect((await board.as('').auth.redeemTicket({ ticket: ticket! })).user.displayName).toBe('Local operator')
  })

  test('opens without a ticket with an API key, which cannot create one', async () => {
    const { key } = await board.client.keys.create({
      scope: 'project',
      projectId,
      name: 'reader',
      permissions: ['cards.read', 'projects.read'],
    })
    const { stdout } = await cli.board(['browse'], {
      env: { BOARD_FORCE_TTY: '100', BROWSER: join(cli.home, 'missing'), BOARD_TOKEN: key },
    })
    expect(stdout).toBe(`${board.url}/#/\n`)
  })

  test.each<[string, Record<string, string>, number, RegExp]>([
    ['a token that is not valid', { BOARD_TOKEN: 'svc_st_wrong' }, 4, /the token is not valid\n.*board auth login/],
    ['no server', { BOARD_URL: 'http://127.0.0.1:1' }, 7, /no answer from http:\/\/127\.0\.0\.1:1 /],
  ])('does not open, with the reason: %s', async (_, env, code, said) => {
    const browser = fakeBrowser(cli.home)
    const opened = await cli.board(['browse'], { env: { BOARD_FORCE_TTY: '100', BROWSER: browser.command, ...env } })
    expect(opened).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(said) })
  })

  test('does not open if the server is older and has none', async () => {
    const older = createServer((_, response) =>
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"error":{"code":"NOT_FOUND","message":"Not found."}}'),
    )
    await once(older.listen(0, '127.0.0.1'), 'listening')
    const { port } = older.address() as AddressInfo
    const env = { BOARD_FORCE_TTY: '100', BOARD_URL: `http://127.0.0.1:${port}` }
    const opened = await cli.board(['browse'], { env })
    older.close()
    expect(opened).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('might be older than this command'),
    })
  })

  test('opens without a ticket for a user without a token, to sign in there', async () => {
    const env = { BOARD_FORCE_TTY: '100', BROWSER: join(cli.home, 'missing'), BOARD_TOKEN: '' }
    expect(await cli.board(['browse'], { env })).toMatchObject({ code: 0, stdout: `${board.url}/#/\n` })
  })

  test('requires a card if it is about one', async () => {
    expect(await cli.board(['browse', 'diff'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('browse diff 12'),
    })
    expect(await cli.board(['browse', 'docs', cardId])).toMatchObject({ code: 2 })
  })
})
