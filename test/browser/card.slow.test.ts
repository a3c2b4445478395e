import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterEach, describe, expect, test } from 'vitest'
import { configure, makeRepository, startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'

const hostile = '<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>'

/** A picture of one pixel in the clipboard, which is pasted as an attachment. */
const pastePicture = `{
  const bytes = Uint8Array.from(
    atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='),
    sign => sign.charCodeAt(0),
  )
  const clipboardData = new DataTransfer()
  clipboardData.items.add(new File([bytes], 'roof.png', { type: 'image/png' }))
  const event = new ClipboardEvent('paste', { clipboardData, bubbles: true })
  document.querySelector('.attachments').dispatchEvent(event)
}`

describe.skipIf(noBrowser !== undefined)('a card in the browser', () => {
  const visit = visitors()
  let board: AgentBoard | undefined
  afterEach(async () => {
    await board?.close()
    board = undefined
  })
  const at = (cardId: string, tab = '') => `#/projects/${board!.projectId}/cards/${cardId}${tab}`

  test('a question of its agent shows the command, is answered in place, and the tool runs', async () => {
    const call = { kind: 'execute', title: 'Clean up', rawInput: { command: 'rm -r build' } }
    board = await startAgentBoard({
      asking: { fixture: 'permission-first', env: { FIXTURE_CALL: JSON.stringify(call) } },
    })
    const { id } = await board.start('asking')
    await board.untilStatus(id, 'waiting')
    // A card with an open question opens at the question.
    const { page, axeViolations } = await visit(board, { at: at(id) })
    const question = page.getByRole('region', { name: /Question from the agent/ })
    await question.getByText('rm -r build', { exact: true }).first().waitFor()
    expect(await axeViolations()).toEqual([])
    await question.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.getByText('Written.').waitFor()
    await question.waitFor({ state: 'detached' })
    await page.getByText('completed: Clean up').waitFor()
    await board.untilStatus(id, 'completed')
  })

  test('a question is answered in words, with an option, or left to the agent', async () => {
    board = await startAgentBoard({ people: { fixture: 'asking-people' } })
    const ask = [{ question: 'Which database should I use?', options: ['Postgres', 'SQLite'] }]
    const answers = [
      ['Send answer', 'MySQL', { answer: 'MySQL', comment: '' }],
      ['SQLite', 'It is small.', { answer: 'SQLite', comment: 'It is small.' }],
      ['Let the agent decide', '', { answer: null, comment: '' }],
    ] as const
    for (const [name, words, given] of answers) {
      const { id } = await board.start('people', { prompt: JSON.stringify({ ask }) })
      const { page, axeViolations } = await visit(board, { at: at(id) })
      const question = page.getByRole('region', { name: 'Question from the agent: Which database should I use?' })
      await question.waitFor()
      expect(await axeViolations()).toEqual([])
      expect(await question.getByRole('button', { name: 'Send answer' }).isDisabled()).toBe(true)
      await question.getByRole('textbox', { name: 'Your answer' }).fill(words)
      await question.getByRole('button', { name, exact: true }).click()
      await question.waitFor({ state: 'detached' })
      await board.untilStatus(id, 'completed')
      expect((await board.messages(id)).at(-1)!.content).toContain(JSON.stringify({ answered: true, ...given }))
      await page.close()
    }
  })

  test('a plan is checked off, tool calls are collapsed, and tokens, cost and context are shown', async () => {
    board = await startAgentBoard({ well: { fixture: 'well-behaved' } })
    const { id } = await board.start('well')
    const { page, axeViolations } = await visit(board, { at: at(id), colorScheme: 'dark' })
    await page.getByText('I wrote hello.txt as asked.').waitFor()
    await page.getByText('1 of 1 done').last().waitFor()
    await page.getByText('100 in, 20 out').waitFor()
    await page.getByText('1% of context').waitFor()
    expect(await page.getByText('path: hello.txt').count()).toBe(0)
    await page.getByText('Write hello.txt').click()
    await page.getByText('path: hello.txt').waitFor()
    expect(await axeViolations()).toEqual([])
  })

  test('finished calls are folded, the plan and the running call stay in view, and the prompt is folded', async () => {
    board = await startAgentBoard({ told: { fixture: 'asks-as-told' } })
    const call = (id: number, kind: string, status = 'completed') => ({
      sessionUpdate: 'tool_call',
      toolCallId: `call ${id}`,
      title: `Call ${id}`,
      kind,
      status,
      locations: [{ path: `file${id}.txt` }],
    })
    const text = (text: string) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
    const step = (content: string, status: string) => ({ content, status, priority: 'high' })
    const before = [
      ...[1, 2, 3, 4].map(id => call(id, 'read')),
      { sessionUpdate: 'plan', entries: [step('Read', 'completed'), step('Write', 'in_progress')] },
      text('Now I write.'),
    ]
    const after = [...[5, 6].map(id => call(id, 'edit')), call(7, 'execute', 'in_progress')]
    const { id } = await board.start('told', { prompt: JSON.stringify({ before, call: { title: 'Ask' }, after }) })
    const { page, axeViolations, settled } = await visit(board, { at: at(id) })
    const transcript = page.getByRole('region', { name: 'Activity' })
    await transcript.getByText('Now I write.', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Allow', exact: true }).waitFor()
    expect(await transcript.getByText('Call 1', { exact: true }).count()).toBe(0)
    await transcript.getByText('Read 4 files').click()
    await transcript.getByText('Call 1', { exact: true }).waitFor()
    await transcript.getByText('Call 5', { exact: true }).waitFor()
    await page.getByText('1 of 2 done').click()
    await page.getByText('in progress: Write').waitFor()
    expect(await transcript.getByText('1 of 2 done').count()).toBe(0)
    await transcript.getByText('Details of the prompt').waitFor()
    expect(await page.getByText('You', { exact: true }).count()).toBe(0)
    await settled()
    expect(await axeViolations()).toEqual([])
    await page.getByRole('button', { name: 'Always allow' }).click()
    await board.untilStatus(id, 'completed')
    // The plan of a finished session is in its transcript.
    await transcript.getByText('1 of 2 done').waitFor()
  })

  test('a running agent shows what runs, and since when', async () => {
    board = await startAgentBoard({ forever: { fixture: 'forever' } })
    const { id } = await board.start('forever')
    const { page, axeViolations } = await visit(board, { at: at(id) })
    const work = page.locator('.at-work')
    await work.getByText('Working').waitFor()
    await expect.poll(() => work.getByText(/^\d+ s$/).innerText()).not.toBe('0 s')
    expect(await axeViolations()).toEqual([])
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await work.waitFor({ state: 'detached' })
  })

  test("an agent's output is always shown as text", async () => {
    board = await startAgentBoard({ told: { fixture: 'asks-as-told' } })
    const text = `${hostile}\n\n[click](javascript:window.wasRun=1) ![dot](https://example.org/dot.png)\n\n\u001b[31mred\u001b[0m`
    const before = [
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
      { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: hostile } },
      {
        sessionUpdate: 'tool_call',
        toolCallId: 'one',
        title: `\u001b[31mRun ${hostile}`,
        kind: 'execute',
        status: 'completed',
        rawInput: { command: hostile },
        rawOutput: `\u001b[32mgreen\u001b[0m ${hostile}`,
      },
    ]
    const prompt = JSON.stringify({ before, call: { title: hostile, kind: 'execute' } })
    const { id } = await board.start('told', { title: hostile, prompt })
    const { page, settled } = await visit(board, { at: at(id) })
    await page.getByRole('heading', { name: '<img src=x' }).waitFor()
    await page.getByText('red', { exact: true }).waitFor()
    await page.getByText(/completed: Run <img/).click()
    await page.getByText('green <img').waitFor()
    await page.getByRole('region', { name: /Question from the agent: <img/ }).waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    expect(await page.locator('main a[href^="javascript"]').count()).toBe(0)
    await settled()
    expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false)
  })

  test('a prompt that two users edit is not overwritten', async () => {
    board = await startAgentBoard({})
    const { projectId } = board
    const { id } = await board.client.cards.create({ projectId, title: 'Roof', prompt: 'Fix it.' })
    const [one, other] = [await visit(board, { at: at(id) }), await visit(board, { at: at(id) })]
    const edit = async ({ page }: { page: Page }, text: string) => {
      await page.getByRole('button', { name: 'Edit prompt' }).click()
      await page.getByRole('textbox', { name: 'Prompt' }).fill(text)
    }
    await edit(one, 'Fix it **well**.')
    await edit(other, 'Fix it cheaply.')
    await other.page.reload()
    await expect.poll(() => other.page.getByRole('textbox', { name: 'Prompt' }).inputValue()).toBe('Fix it cheaply.')
    // A change of another field is not a conflict.
    await board.client.cards.update({ projectId, cardId: id, labels: ['house'] })
    await one.page.getByRole('button', { name: 'Save' }).click()
    await one.page.locator('strong', { hasText: 'well' }).waitFor()
    await other.page.getByText('Another person has changed this text').waitFor()
    await expect.poll(() => other.page.getByRole('textbox', { name: 'Prompt' }).inputValue()).toBe('Fix it cheaply.')
    await other.page.getByRole('button', { name: 'Keep mine' }).click()
    await other.page.getByRole('button', { name: 'Save' }).click()
    await one.page.getByText('Fix it cheaply.').waitFor()
    await expect.poll(async () => (await board!.card(id)).labels).toEqual(['house'])
    expect(await one.axeViolations()).toEqual([])
  })

  test('older messages load when scrolling up, without a jump, and new ones are counted below', async () => {
    board = await startAgentBoard({
      calls: { fixture: 'many-calls', env: { FIXTURE_CALLS: '225', FIXTURE_TALKS: '1' } },
    })
    const { id } = await board.start('calls')
    await board.untilStatus(id, 'completed')
    const { page, settled } = await visit(board, { at: at(id) })
    await page.getByText('Call 225', { exact: true }).waitFor()
    await settled()
    expect(await page.getByText('Call 150', { exact: true }).count()).toBe(0)
    const transcript = page.getByRole('region', { name: 'Activity' })
    const first = page.getByText('Call 181', { exact: true })
    await first.scrollIntoViewIfNeeded()
    const before = await first.boundingBox()
    await page.getByText('Call 150', { exact: true }).waitFor({ state: 'attached' })
    await expect.poll(async () => Math.abs((await first.boundingBox())!.y - before!.y)).toBeLessThan(5)
    await transcript.focus()
    await board.client.agents.send({ projectId: board.projectId, cardId: id, content: 'Again.' })
    await page.getByRole('button', { name: /new below/ }).click()
    await page.getByText('Again.').waitFor()
  })

  test('a message is completed with files and commands, is sent with a file, and hidden tools stay hidden until requested', async () => {
    board = await startAgentBoard({ well: { fixture: 'well-behaved' } })
    const { id } = await board.start('well')
    await board.untilStatus(id, 'completed')
    await board.client.settings.setUser({ hiddenToolTypes: ['edit'] })
    const { page, axeViolations } = await visit(board, { at: at(id) })
    await page.getByText('1 hidden').waitFor()
    expect(await page.getByText('Write hello.txt').count()).toBe(0)
    await page.getByRole('button', { name: 'show', exact: true }).click()
    await page.getByText('Write hello.txt').waitFor()
    const box = page.getByRole('textbox', { name: 'Message to well' })
    await box.pressSequentially('/rev')
    await page.getByRole('option', { name: /review/ }).waitFor()
    expect(await axeViolations()).toEqual([])
    await box.press('Tab')
    await expect.poll(() => box.inputValue()).toBe('/review ')
    await box.pressSequentially('@READ')
    await page.getByRole('option').first().waitFor()
    await box.press('Enter')
    await box.press('Shift+Enter')
    await box.pressSequentially('Now.')
    await expect.poll(() => box.inputValue()).toMatch(/^\/review @\S+ \nNow\.$/)
    await page.locator('.message-box input[type=file]').setInputFiles({
      name: 'notes.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('Look here.'),
    })
    await page.getByRole('button', { name: 'Do not send notes.txt' }).waitFor()
    await box.press('Enter')
    await page.locator('.message').getByText('notes.txt').waitFor()
    await expect.poll(() => box.inputValue()).toBe('')
  })

  test('a picture is pasted and shown, a card is started by keyboard, and Escape returns to the board', async () => {
    board = await startAgentBoard({ well: { fixture: 'well-behaved' } })
    const { projectId } = board
    const { id } = await board.client.cards.create({ projectId, title: 'Roof', agent: 'well' })
    const { page, axeViolations } = await visit(board, { at: `#/projects/${projectId}/beside/${id}` })
    const panel = page.getByRole('complementary', { name: 'Card' })
    await panel.getByRole('heading', { name: 'Prompt' }).waitFor()
    await page.evaluate(pastePicture)
    await panel.getByRole('img', { name: 'roof.png' }).waitFor()
    await panel.getByRole('button', { name: 'Start', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('alertdialog', { name: 'Start its agent?' }).getByText('which uses tokens').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Start' }).focus()
    await page.keyboard.press('Enter')
    await panel.getByText('completed', { exact: true }).first().waitFor()
    expect(await axeViolations()).toEqual([])
    await panel.getByText('I wrote hello.txt as asked.').waitFor()
    await panel.getByRole('tab', { name: 'Activity' }).focus()
    await page.keyboard.press('ArrowRight')
    await panel.getByRole('tab', { name: 'Changes', selected: true }).waitFor()
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })
    await expect.poll(() => board!.client.panelStates.get({ projectId })).toMatchObject({ [id]: { tab: 'changes' } })
    await page.goto(`${board.url}/${at(id)}`)
    await page.reload()
    // The last open tab belongs to the user, wherever the card is opened.
    await page.getByRole('tab', { name: 'Changes', selected: true }).waitFor()
  })

  test('messages, comments, reviews and history are in order of time, and the address keeps their filter', async () => {
    board = await startAgentBoard({ well: { fixture: 'well-behaved' } })
    const { id } = await board.start('well')
    await board.untilStatus(id, 'completed')
    const place = { projectId: board.projectId, cardId: id }
    await board.client.comments.create({ ...place, body: 'Well done.' })
    await board.client.reviews.putDraft({
      ...place,
      body: 'One question.',
      comments: [{ path: 'hello.txt', line: 1, body: 'Why?' }],
    })
    await board.client.reviews.create({ ...place, verdict: 'comment', seen: [] })
    const { page, axeViolations, settled } = await visit(board, { at: at(id) })
    const activity = page.getByRole('region', { name: 'Activity' })
    const review = activity.getByRole('article', { name: /^Review by/ })
    await review.getByText('0 of 1 comments answered').click()
    await review.getByText('Why?').waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    const text = await activity.innerText()
    const shown = ['created it in', 'I wrote hello.txt as asked.', 'Well done.', 'One question.']
    expect(shown.toSorted((a, b) => text.indexOf(a) - text.indexOf(b))).toEqual(shown)
    expect(shown.every(each => text.includes(each))).toBe(true)

    await page.getByRole('button', { name: 'Reviews' }).click()
    await activity.getByText('I wrote hello.txt as asked.').waitFor({ state: 'detached' })
    await page.reload()
    await review.waitFor()
    expect(page.url()).toMatch(/\?show=review$/)
    expect(await activity.locator('ol > li').count()).toBe(1)
    await page.getByRole('button', { name: 'Transcript' }).click()
    await activity.getByText('I wrote hello.txt as asked.').waitFor()
    expect(await review.count()).toBe(0)
  })

  test('a refined prompt replaces the card’s, and the assistant answers on its own page', async () => {
    board = await startAgentBoard({ refining: { fixture: 'refining' } })
    const { projectId } = board
    await board.client.projects.update({ id: projectId, agent: 'refining' })
    const { id } = await board.client.cards.create({ projectId, title: 'Roof', prompt: 'Fix it.' })
    const { page, axeViolations } = await visit(board, { at: at(id) })
    await page.getByRole('button', { name: /Refine prompt/ }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Start' }).click()
    await page.getByText('Which roof?').waitFor()
    await page.getByRole('textbox', { name: 'Answer the planning agent' }).fill('The red one.')
    await page.keyboard.press('Enter')
    await page.getByText('round 2').first().waitFor()
    await page.getByRole('button', { name: 'Use prompt' }).click()
    await board.until(id, 'the refined prompt', ({ prompt }) => prompt.includes('The red one.'))
    await page.goto(`${board.url}/#/projects/${projectId}/assistant`)
    await page.getByRole('textbox', { name: 'Message to the assistant' }).fill('Hello')
    expect(await axeViolations()).toEqual([])
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Which roof?').waitFor()
  })
})

describe.skipIf(noBrowser !== undefined)('a card whose server dies', () => {
  const visit = visitors()

  test('typed text survives a reload and a killed server, and is sent to the next one', async () => {
    const root = mkdtempSync(join(tmpdir(), 'board-typed-'))
    configure(join(root, 'data'), { echo: { fixture: 'well-behaved' } }, 'typed')
    const args: string[] = []
    const server = boardProcess(join(root, 'data'), {}, args)
    try {
      await server.start()
      const path = makeRepository(join(root, 'repository'))
      const { id: projectId } = await server.client.projects.create({ name: 'work', path })
      const card = await server.client.cards.create({ projectId, title: 'Roof', agent: 'echo' })
      const { page } = await visit(server, { at: `#/projects/${projectId}/cards/${card.id}` })
      const box = page.getByRole('textbox', { name: 'Message to echo' })
      await box.fill('Fix the roof, please.')
      await page.reload()
      await expect.poll(() => box.inputValue()).toBe('Fix the roof, please.')
      await server.end('SIGKILL')
      await box.press('Enter')
      await page.getByRole('region', { name: 'Messages' }).getByText('The server does not answer').waitFor()
      expect(await box.inputValue()).toBe('Fix the roof, please.')
      args.push('--port', new URL(server.url).port)
      await server.start()
      await page.getByText('live', { exact: true }).waitFor()
      await box.press('Enter')
      await page.getByText('I wrote hello.txt as asked.').waitFor()
      await expect.poll(() => box.inputValue()).toBe('')
    } finally {
      await clearAway(server, root)
    }
  })
})
