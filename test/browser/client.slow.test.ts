import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { startWebProject, type WebProject } from '../support/servers/webProject.ts'

const client = resolve(import.meta.dirname, '../../dist/client/browser')

/** A program that runs in a third-party page. */
const program = `
import { ApiFailure, connect } from './index.js'
export async function run({ url, token, projectId }) {
  const board = connect({ url, token })
  const card = await board.cards.create({ projectId, title: 'From a page', deferred: true })
  const titles = []
  for await (const event of board.follow({ projectId, since: 0 })) {
    if (event.type !== 'card.created') continue
    titles.push(event.data.title)
    break
  }
  const file = { file: new Blob(['hello']), filename: 'hello.txt' }
  const attachment = await board.attachments.create({ projectId, cardId: card.id, file })
  const { body } = await board.attachments.download({ attachmentId: attachment.id })
  const failure = await board.cards.get({ projectId, cardId: '999' }).catch(error => error)
  return { titles, text: await body.text(), code: failure instanceof ApiFailure && failure.code }
}`

describe.skipIf(noBrowser)('board/client in a browser', () => {
  const visit = visitors()
  let project: WebProject
  beforeAll(async () => {
    project = await startWebProject()
  })
  afterAll(() => project.close())

  test('calls, follows, uploads and downloads on a page of the same origin', async () => {
    const { server, projectId } = project
    const { page } = await visit(server, { isStranger: true })
    await page.route(`${server.url}/client/**`, route => {
      const path = new URL(route.request().url()).pathname.slice('/client/'.length)
      return route.fulfill(
        path === 'program.js' ? { contentType: 'text/javascript', body: program } : { path: resolve(client, path) },
      )
    })
    const given = JSON.stringify({ url: server.url, token: server.token, projectId })
    const told = await page.evaluate(`import('/client/program.js').then(({ run }) => run(${given}))`)
    expect(told).toEqual({ titles: ['From a page'], text: 'hello', code: 'CARD_NOT_FOUND' })
  })
})
