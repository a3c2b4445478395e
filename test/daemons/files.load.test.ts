import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { commandLine } from '../support/commands/commandLine.ts'
import { type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { importFile, type Doc } from '../transfers/files.ts'
import { isSharable, startSharing } from './sharing.ts'

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')

describe.skipIf(!isSharable)('files of several machines', () => {
  let one: TestBoard
  let two: TestBoard
  let three: TestBoard
  let organizationId: string
  const places = new Map<TestBoard, { projectId: string; cardId: string }>()
  const sent = new Map<string, string>()

  /** Uploads a file of a card to a daemon. */
  async function attach(to: TestBoard, at: TestBoard, filename: string, bytes: Buffer | string): Promise<string> {
    const path = join(to.folder('sent'), filename)
    writeFileSync(path, bytes)
    const { id } = await to.client.attachments.create({ ...places.get(at)!, file: { path } })
    sent.set(filename, sha256(bytes))
    return id
  }
  const filesOf = (board: TestBoard) => readdirSync(join(board.dataDir, 'attachments'))
  /** The hash of each attachment's bytes in an export, and its entries for missing ones. */
  const held = (file: Doc) =>
    new Map<string, string>(
      file.attachments.flatMap(({ id, filename, size }: Doc) => {
        const pieces = file.contents.filter(({ attachmentId }: Doc) => attachmentId === id)
        return pieces.length === 0 && size > 0
          ? []
          : [
              [filename, sha256(Buffer.concat(pieces.map(({ content }: Doc) => Buffer.from(content, 'base64'))))] as [
                string,
                string,
              ],
            ]
      }),
    )
  const exported = async (from: TestBoard, token?: string) => {
    const reply = await from.request('POST', '/api/export', { body: { organizationId }, ...(token && { token }) })
    expect([reply.status, reply.headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(reply.text))])
    return reply
  }

  beforeAll(async () => {
    const sharing = await startSharing()
    ;[one, two, three] = [await sharing.join('one'), await sharing.join('two'), await sharing.join('three')]
    await eventually(
      'all at work',
      async () => (await one.client.server.daemons()).filter(each => each.duties.includes('machine')).length === 3,
    )
    organizationId = (await one.client.organizations.create({ name: 'Club' })).id
    for (const board of [one, two, three]) {
      const { id: projectId } = await board.client.projects.create({
        name: `Of ${board.folder('project')}`,
        path: board.folder('project'),
        organizationId,
      })
      places.set(board, {
        projectId,
        cardId: (await board.client.cards.create({ projectId, title: 'with files', deferred: true })).id,
      })
    }
    await attach(one, one, 'here.txt', 'on machine one')
    await attach(one, two, 'there.txt', 'on machine two')
    await attach(two, two, 'large.bin', randomBytes(3_000_000))
    await attach(two, two, 'empty.txt', '')
    await attach(three, three, 'far.txt', 'on machine three')
  })

  it("an organization's export has the bytes of all machines, regardless of the daemon that creates it", async () => {
    for (const board of [one, two, three]) {
      const { body, headers } = await exported(board)
      expect(held(body)).toEqual(sent)
      expect([body.missing, headers.get('x-board-missing-files')]).toEqual([undefined, null])
    }
    expect(filesOf(one)).toHaveLength(1)
  })

  it("a file that an agent's tool attaches is on the machine of its project, and is read from there", async () => {
    const call = async (board: TestBoard, name: string, input: object) =>
      (
        await board.request('POST', '/api/mcp', {
          body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } },
          headers: { accept: 'application/json, text/event-stream' },
        })
      ).body.result
    const before = [filesOf(one).length, filesOf(two).length]
    const result = await call(one, 'attach_file', { ...places.get(two)!, filename: 'tool.txt', text: 'by a tool' })
    sent.set('tool.txt', sha256('by a tool'))
    const attachment = JSON.parse(result.content[0].text)
    expect([filesOf(one).length, filesOf(two).length]).toEqual([before[0], before[1]! + 1])
    for (const board of [one, two, three]) {
      expect((await board.request('GET', `/api/attachments/${attachment.id}`)).text).toBe('by a tool')
      expect(
        JSON.parse(
          (await call(board, 'read_attachment', { projectId: places.get(two)!.projectId, attachmentId: attachment.id }))
            .content[0].text,
        ),
      ).toMatchObject({ text: 'by a tool' })
    }
    // A row's tool is called at the daemon of its request, because only that one has the folder.
    const { projectId, cardId } = places.get(two)!
    for (const board of [one, two, three]) {
      const { text } = (await call(board, 'read_diff', { projectId, cardId })).content[0]
      expect(JSON.parse(text).error.code).toBe('NOT_A_GIT_REPOSITORY')
    }
    expect(
      JSON.parse(
        (await call(one, 'attach_file', { projectId: '999', cardId: '1', filename: 'x', text: 'x' })).content[0].text,
      ).error.code,
    ).toBe('PROJECT_NOT_FOUND')
  })

  it('a file with other content than recorded is not in an export, which names its machine', async () => {
    const id = Number(await attach(two, two, 'spoilt.txt', 'whole'))
    const { storedAs } = (await one.server.app.db.get<{ storedAs: string }>(
      'SELECT stored_as AS storedAs FROM attachments WHERE id = ?',
      [id],
    ))!
    const path = join(two.dataDir, 'attachments', storedAs)
    writeFileSync(path, 'spoil')
    expect((await exported(one)).body.missing).toEqual([{ attachmentId: id, machine: 'two' }])
    writeFileSync(path, 'whale')
    const { body } = await exported(one)
    expect(body.missing).toEqual([{ attachmentId: id, machine: 'two' }])
    expect(body.contents.some(({ attachmentId }: Doc) => attachmentId === id)).toBe(false)
    writeFileSync(path, 'whole')
    expect(held((await exported(one)).body)).toEqual(sent)
  })

  it('without a daemon on a machine, the export names the machine that has the files, and so does an import of it', async () => {
    await three.server.stop()
    const refused = await one.request('POST', '/api/mcp', {
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'attach_file', arguments: { ...places.get(three)!, filename: 'x', text: 'x' } },
      },
      headers: { accept: 'application/json, text/event-stream' },
    })
    expect([refused.status, refused.body.error.code]).toEqual([503, 'MACHINE_UNAVAILABLE'])
    const { body, headers } = await exported(one)
    const far = body.attachments.find(({ filename }: Doc) => filename === 'far.txt').id
    expect(body.missing).toEqual([{ attachmentId: far, machine: 'three' }])
    expect([headers.get('x-board-missing-files'), headers.get('x-board-missing-machines')]).toEqual(['1', 'three'])
    expect([...held(body).keys()].sort()).toEqual([...sent.keys()].filter(name => name !== 'far.txt').sort())
    const report = await importFile(one, { format: 'board', dryRun: 'true', path: one.folder('again') }, body)
    expect(report.body.data.warnings).toEqual([
      expect.stringMatching(/"far\.txt" has no content in the file: it was on the machine three/),
    ])
    const cli = commandLine({ BOARD_URL: one.url, BOARD_TOKEN: one.token })
    try {
      const { code, stderr } = await cli.board(['export', '--org', 'Club', '-o', 'club.json'])
      expect([code, stderr]).toEqual([
        0,
        'warning: the files of 1 attachment are missing; no server is running on three\n',
      ])
      expect(JSON.parse(readFileSync(join(cli.home, 'club.json'), 'utf8')).missing).toHaveLength(1)
    } finally {
      cli.close()
    }
  })
})
