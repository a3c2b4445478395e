import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine, type Going } from '../support/commands/commandLine.ts'
import { openPreview } from '../support/browsers/openPreview.ts'
import { fakeBrowser } from '../support/browsers/fakeBrowser.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const serving = `node -e "require('http').createServer((q,r)=>r.end('here')).listen(+process.env.BOARD_PORT,'127.0.0.1')"`
let server: TestBoard
let cli: CommandLine
let projectId: string
let cardId: string

beforeAll(async () => {
  server = await startBoard({ allowHosts: ['0.0.0.0'] })
  projectId = (await server.client.projects.create({ name: 'web', path: server.folder('web') })).id
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token, BOARD_PROJECT: 'web' })
})
afterAll(async () => {
  cli.close()
  await server.close()
})
beforeEach(async () => {
  await server.client.projects.update({ id: projectId, worktree: { preview: serving } })
  const [column] = await server.client.columns.list({ projectId })
  cardId = (await server.client.cards.create({ projectId, title: 'Look', columnId: column!.id })).id
})
const read = () => server.client.previews.get({ projectId, cardId })
const untilCode = (going: Going) => eventually('the end of the command', () => going.code !== undefined)
const printed = (going: Going) => eventually('the address', () => /^http:\S+\n/m.test(going.stdout))

describe('board cards preview', () => {
  test('prints the address, keeps it running, and ends it when it is interrupted', async () => {
    const going = cli.start(['cards', 'preview', cardId])
    await printed(going)
    const { url, port } = await read()
    expect(going.stdout).toMatch(/^http:\S+\n$/)
    const { cookie, ...opened } = await openPreview(going.stdout.trim())
    expect(opened.url).toBe(url)
    expect(await (await fetch(url!, { headers: { cookie } })).text()).toBe('here')
    expect(await cli.json(['cards', 'preview', cardId, '--status'])).toMatchObject({ status: 'running', url, port })
    expect(await cli.ok(['cards', 'preview', cardId, '--status'])).toContain(`url\t${url}\n`)
    going.interrupt()
    await untilCode(going)
    expect(going).toMatchObject({ code: 0, stderr: expect.stringContaining(`preview of card ${cardId} has ended`) })
    expect(await read()).toMatchObject({ status: 'off' })
  })

  test('exits when another client stops the preview', async () => {
    const going = cli.start(['cards', 'preview', cardId, '--json', 'url'])
    await eventually('the address', () => going.stdout.includes('http'))
    expect((await openPreview(JSON.parse(going.stdout).url)).url).toBe((await read()).url)
    expect(await cli.board(['cards', 'preview', cardId, '--stop'])).toMatchObject({
      code: 0,
      stderr: `Stopped the preview of card ${cardId}.\n`,
    })
    await untilCode(going)
    expect(going.code).toBe(0)
    expect(await read()).toMatchObject({ status: 'off' })
  })

  test('reports a failure with its output', async () => {
    await server.client.projects.update({
      id: projectId,
      worktree: { preview: 'echo "no such script" >&2; echo "in 2 lines" >&2; exit 4' },
    })
    expect(await cli.board(['cards', 'preview', cardId])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /\nno such script\nin 2 lines\n[\s\S]*failed: The preview command ended with exit code 4/,
      ),
    })
    await server.client.projects.update({ id: projectId, worktree: { preview: null } })
    expect(await cli.board(['cards', 'preview', cardId])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('board projects worktree'),
    })
    expect(await cli.board(['cards', 'preview', cardId, '--stop', '--status'])).toMatchObject({ code: 2 })
    expect(await cli.board(['cards', 'preview', '999', '--status'])).toMatchObject({ code: 3 })
  })

  test('opens the browser with a ticket that is not in its arguments', async () => {
    const browser = fakeBrowser(cli.home)
    const going = cli.start(['cards', 'preview', cardId, '--open'], { BROWSER: browser.command })
    await printed(going)
    const { url } = await read()
    const { asked, sentTo } = await browser.visited()
    expect(asked).not.toContain('ticket')
    expect((await openPreview(sentTo)).url).toBe(url)
    expect(going.stdout).toBe(`${url}\n`)
    going.interrupt()
    await untilCode(going)
  })

  test('explains how to reach it from another machine', async () => {
    // The host name resolves to this machine, but does not look like it.
    const going = cli.start(['cards', 'preview', cardId, '--open'], {
      BOARD_URL: server.url.replace('127.0.0.1', '0.0.0.0'),
      BROWSER: '/nothing',
    })
    await printed(going)
    const { port } = await read()
    await eventually('the way there', () => going.stderr.includes('ssh'))
    expect(going.stderr).toContain(`ssh -L ${port}:127.0.0.1:${port} 0.0.0.0\n`)
    expect(going.stderr).not.toContain('no browser')
    going.interrupt()
    await untilCode(going)
  })
})
