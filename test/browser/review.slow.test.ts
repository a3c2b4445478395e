import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { git } from '../support/agents/worktrees.ts'
import { holdRequests, noBrowser, visitors, type Visitor } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { eventually } from '../support/waiting/eventually.ts'

describe.skipIf(noBrowser !== undefined)('reviewing', () => {
  const visit = visitors()
  let board: AgentBoard
  beforeAll(async () => {
    board = await startAgentBoard({ reviewed: { fixture: 'reviewed' } })
  })
  afterAll(() => board.close())

  const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
  const at = (cardId: string) => `#/projects/${board.projectId}/cards/${cardId}/changes`
  /** A card whose agent wrote `notes.txt` and is done. */
  async function worked(): Promise<string> {
    const { id } = await board.start('reviewed', { prompt: 'Write notes.' })
    await board.untilStatus(id, 'completed')
    return id
  }
  let trees = 0
  /** A card with a separate worktree. */
  async function attached(): Promise<{ id: string; folder: string }> {
    const folder = `${board.path}-browser-${++trees}`
    git(board.path, 'worktree', 'add', '-q', '-b', `browser-${trees}`, folder)
    const { id } = await board.client.cards.create({ projectId: board.projectId, title: 'By hand' })
    await board.client.cards.attachWorktree({ ...ref(id), path: folder })
    return { id, folder }
  }

  /** The changes of a card, drawn completely, so that nothing moves below the pointer. */
  async function look(id: string, options = {}): Promise<Visitor> {
    const visitor = await visit(board, { at: at(id), ...options })
    await visitor.page.getByRole('checkbox', { name: 'Viewed' }).first().waitFor()
    await visitor.settled()
    return visitor
  }

  test('cannot approve or merge a card without changes', async () => {
    const { id } = await attached()
    const { page } = await visit(board, { at: at(id) })
    await page.getByText('No changes yet.').waitFor()
    for (const name of ['Request changes…', 'Approve…'])
      expect(await page.getByRole('button', { name }).isDisabled()).toBe(true)
    expect(await page.getByRole('button', { name: 'Merge…' }).count()).toBe(0)
  })

  test('comments on lines are sent as one review, and the next round shows the answers at the lines', async () => {
    const id = await worked()
    const { page, axeViolations } = await look(id)
    const file = page.getByRole('region', { name: 'notes.txt' })
    await file.getByRole('button', { name: 'Comment on line 1', exact: true }).hover()
    await page.mouse.down()
    await file.getByRole('button', { name: 'Comment on line 2', exact: true }).hover()
    await page.mouse.up()
    await page.getByRole('textbox', { name: 'Comment on lines 1–2' }).fill('Which notes?')
    await page.getByRole('button', { name: 'Add comment' }).click()
    await page.getByRole('button', { name: 'Request changes…' }).click()
    await page.getByLabel('Summary').fill('Nearly.')
    expect(await axeViolations()).toEqual([])
    await page.getByRole('button', { name: 'Request changes and start the agent' }).click()
    await board.until(id, 'a new look', ({ reviewState }) => reviewState === 'pending')
    await page.getByRole('button', { name: 'Reload' }).click()
    const thread = file.getByRole('article', { name: /on lines 1–2/ })
    await thread.getByText('Done: Which notes?').waitFor()
    await thread.getByText('resolved').waitFor()
    const [sent] = await board.client.reviews.list(ref(id))
    expect(sent).toMatchObject({ body: 'Nearly.', comments: [{ startLine: 1, line: 2, text: 'one\ntwo' }] })
    await choose(page.getByLabel('Changes since'), new RegExp(`^review ${sent!.id} `))
    await page.getByText('1 file +1').waitFor()
    await expect.poll(() => file.getByText('reviewed', { exact: true }).count()).toBe(1)
    expect(await axeViolations()).toEqual([])
    await expect.poll(() => page.url()).toMatch(new RegExp(`/changes/since/${sent!.id}$`))
    await page.reload()
    await page.getByText('1 file +1').waitFor()
    await choose(page.getByLabel('Changes since'), 'the start of the card')
    await page.getByText('1 file +4').waitFor()
    await expect.poll(() => page.url()).toMatch(/\/changes$/)
  })

  test('a draft survives a reload, with its open comment, and a draft of another window is not overwritten', async () => {
    const id = await worked()
    const { page } = await look(id)
    await page.getByRole('button', { name: 'Comment on line 1', exact: true }).click()
    await page.getByRole('textbox', { name: 'Comment on line 1' }).fill('First.')
    await page.getByRole('button', { name: 'Add comment' }).click()
    await page.getByText('1 draft comment, saved').waitFor()
    await page.getByRole('button', { name: 'Comment on line 3', exact: true }).click()
    await page.getByRole('textbox', { name: 'Comment on line 3' }).fill('Half a')
    await page.reload()
    await page.getByRole('article', { name: 'Your comment on line 1, not sent' }).getByText('First.').waitFor()
    expect(await page.getByRole('textbox', { name: 'Comment on line 3' }).inputValue()).toBe('Half a')
    const there = await board.client.reviews.getDraft(ref(id))
    await board.client.reviews.putDraft({ ...ref(id), body: 'From elsewhere.', comments: there.comments })
    await page.getByRole('button', { name: 'Add comment' }).click()
    await page.getByRole('alert').getByText('Another window has changed your draft').waitFor()
    await page.getByRole('button', { name: 'Keep both' }).click()
    await eventually('both in the draft', async () => {
      const { body, comments } = await board.client.reviews.getDraft(ref(id))
      return body === 'From elsewhere.' && comments.length === 2
    })
  })

  test('a comment that is started before the draft has loaded stays open, and is merged with the draft', async () => {
    const id = await worked()
    const { page } = await look(id)
    await board.client.reviews.putDraft({ ...ref(id), body: 'From before.', comments: [] })
    const answer = await holdRequests(page, '**/reviews/draft')
    await page.reload()
    await page.getByRole('button', { name: 'Comment on line 1', exact: true }).click()
    answer()
    await page.getByText('Draft saved').waitFor()
    await page.keyboard.type('Typed on.')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('article', { name: 'Your comment on line 1, not sent' }).getByText('Typed on.').waitFor()
  })

  test('hostile file names and contents are shown as text', async () => {
    const { id, folder } = await attached()
    const name = 'a\u202e<img src=x onerror=alert(1)>\u001b[31m.js'
    writeFileSync(join(folder, name), 'const a = "<script>alert(1)</script>\u202e\u001b[2J"\n')
    mkdirSync(join(folder, 'b'))
    writeFileSync(join(folder, 'b', 'diff --git a b'), '-- a/README\n+++ b/README\n@@ -1 +1 @@\n')
    const { page, axeViolations } = await look(id, { colorScheme: 'dark' })
    const file = page.getByRole('region', { name: 'aU+202E<img src=x onerror=alert(1)>U+001B[31m.js' })
    await file.getByText('<script>alert(1)</script>').waitFor()
    await expect
      .poll(() => file.locator('code').textContent())
      .toBe('const a = "<script>alert(1)</script>U+202EU+001B[2J"')
    await page.getByRole('region', { name: 'b/diff --git a b' }).getByText('@@ -1 +1 @@').waitFor()
    expect(await page.locator('.review img, .review script').count()).toBe(0)
    expect(await axeViolations()).toEqual([])
  })

  test('lines can be commented on by keyboard alone, and a conflicting merge names the files', async () => {
    const { id, folder } = await attached()
    writeFileSync(join(folder, 'README'), 'One thing.\nTwo things.\nThree things.\n')
    writeFileSync(join(board.path, 'README'), 'Another thing.\n')
    git(board.path, 'commit', '-q', '-a', '-m', 'Another')
    const { page } = await look(id, { viewport: { width: 1280, height: 800 } })
    const file = page.getByRole('region', { name: 'README' })
    await file.getByRole('checkbox', { name: 'Viewed' }).focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('c')
    await page.getByRole('textbox', { name: 'Comment on lines 2–3' }).waitFor()
    await page.keyboard.type('Why?')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('article', { name: 'Your comment on lines 2–3, not sent' }).waitFor()
    await page.getByRole('button', { name: 'Request changes…' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Send as comments only' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Sent the review. No agent was started.').waitFor()
    expect(await board.client.reviews.list(ref(id))).toMatchObject([
      { verdict: 'comment', comments: [{ body: 'Why?' }] },
    ])
    await page.locator('.changes-bar').getByText('Conflicts with main in 1 file').waitFor()
    await page.getByRole('button', { name: 'Merge…' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('README').waitFor()
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Merge', exact: true }).isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    git(folder, 'checkout', '-q', '.')
    writeFileSync(join(folder, 'more'), 'More.\n')
    await page.getByRole('button', { name: 'Merge…' }).click()
    await page.getByText('No conflicts.').waitFor()
    await page.getByRole('checkbox', { name: /squash/ }).check()
    await page.getByRole('dialog').getByRole('button', { name: 'Squash and merge', exact: true }).click()
    await page.getByRole('region', { name: 'Merge' }).getByText('Merged into main as').waitFor()
    expect(git(board.path, 'show', 'main:more')).toBe('More.\n')
  })

  test('a menu merges into another branch, and as one commit', async () => {
    const id = await worked()
    git(board.path, 'branch', '-f', 'release', 'main')
    const { page, axeViolations } = await look(id)
    await page.locator('.changes-bar').getByText('No conflicts with main').waitFor()
    const choose = async (name: string) => {
      await page.getByRole('button', { name: 'Other ways to merge' }).click()
      await page.getByRole('menuitem', { name }).click()
    }
    await choose('Squash and merge…')
    const dialog = page.getByRole('dialog', { name: 'Merge the card’s work' })
    expect(await dialog.getByRole('checkbox', { name: /squash/ }).isChecked()).toBe(true)
    await page.keyboard.press('Escape')
    await choose('Merge into another branch…')
    await page.keyboard.type('release')
    await dialog.getByText('is merged into release.').waitFor()
    await dialog.getByText('No conflicts.').waitFor()
    expect(await axeViolations()).toEqual([])
    await dialog.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('region', { name: 'Merge' }).getByText('Merged into release as').waitFor()
    expect(await board.card(id)).toMatchObject({ mergedInto: 'release' })
  })

  test('a confirmation about a card closes with the card', async () => {
    const id = await worked()
    const { page } = await look(id)
    await page.goto(`${board.url}/${at(await worked())}`)
    const merge = page.getByRole('button', { name: 'Merge…' })
    await merge.click()
    await page.getByRole('dialog', { name: 'Merge the card’s work' }).getByText('is merged into main.').waitFor()
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await merge.click()
    await page.getByRole('dialog', { name: 'Merge the card’s work' }).waitFor()
  })

  test('a merge can move the card to done, and the card is shown as merged everywhere until main loses the merge', async () => {
    const id = await worked()
    const { page, axeViolations } = await look(id)
    await page.getByRole('button', { name: 'Merge…' }).click()
    await page.getByRole('checkbox', { name: 'Move the card to its done column' }).check()
    await page.getByRole('dialog').getByRole('button', { name: 'Merge', exact: true }).click()
    const panel = page.getByRole('region', { name: 'Merge' })
    await panel.getByText('Merged into main as').waitFor()
    await expect.poll(() => panel.getByRole('button').allTextContents()).toEqual(['Remove worktree…'])
    await page.locator('.opened-bar').getByText('Merged into main').waitFor()
    await page.locator('.changes-bar').getByText('Merged into main').waitFor()
    expect(await board.card(id)).toMatchObject({ columnId: board.columns.done, mergedInto: 'main' })
    expect(await axeViolations()).toEqual([])
    const settings = await visit(board, { at: `#/projects/${board.projectId}/settings` })
    await settings.page.getByRole('checkbox', { name: 'Remove the worktree of the card' }).check()
    await settings.page.getByRole('button', { name: 'Save steps' }).click()
    const afterMerge = async () => (await board.client.projects.get({ id: board.projectId })).afterMerge
    await expect.poll(afterMerge).toEqual({ moveToDone: false, removeWorktree: true })
    await board.client.projects.update({ id: board.projectId, afterMerge: { removeWorktree: false } })
    const tiles = await visit(board, { at: `#/projects/${board.projectId}` })
    const tile = tiles.page.locator('.card', { hasText: `#${id}` })
    await tile.getByText('Merged into main').waitFor()
    git(board.path, 'reset', '-q', '--hard', 'HEAD~1')
    await board.card(id)
    await page.getByRole('button', { name: 'Merge…' }).waitFor()
    await tile.getByText('Merged into main').waitFor({ state: 'detached' })
    expect(await page.getByText('Merged into main').count()).toBe(0)
  })

  test('the branch is updated and pushed, with force only on request', async () => {
    const { id, folder } = await attached()
    writeFileSync(join(folder, 'mine'), 'Mine.\n')
    const remote = board.folder(`pushed-${id}.git`)
    git(board.path, 'clone', '-q', '--bare', board.path, remote)
    git(board.path, 'remote', 'add', 'origin', remote)
    writeFileSync(join(board.path, `news-${id}`), 'News.\n')
    git(board.path, 'add', '.')
    git(board.path, 'commit', '-q', '-m', 'News')
    const { page, axeViolations, settled } = await look(id)
    const tools = page.getByRole('region', { name: 'Branch' })
    await tools.getByRole('button', { name: 'Update from base' }).click()
    await tools.getByText('Updated ').waitFor()
    expect(git(folder, 'ls-files')).toContain(`news-${id}`)
    await tools.getByRole('button', { name: 'Push' }).click()
    await tools.getByText(' to origin.').waitFor()
    git(folder, 'commit', '-q', '--amend', '-m', 'Another message')
    await tools.getByRole('button', { name: 'Push' }).click()
    await page.getByRole('alertdialog').getByText('has commits that are not in the card').waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await page.getByRole('alertdialog').getByRole('button', { name: 'Replace', exact: true }).click()
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    const branch = git(folder, 'branch', '--show-current').trim()
    expect(git(remote, 'rev-parse', branch)).toBe(git(folder, 'rev-parse', 'HEAD'))
    git(board.path, 'remote', 'remove', 'origin')
  })

  test('a picture is shown before and after the change', async () => {
    const { id, folder } = await attached()
    const head = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    writeFileSync(join(folder, 'pixel.png'), Buffer.from(head, 'base64'))
    const { page } = await look(id)
    await page.getByRole('region', { name: 'pixel.png' }).getByRole('img', { name: 'Now: image' }).waitFor()
    await page.getByText('Now, 1 × 1').waitFor()
    expect(await page.getByRole('img', { name: 'Before: image' }).count()).toBe(0)
  })

  test('on a phone a diff has one column, and nothing is wider than the window', async () => {
    const { id, folder } = await attached()
    writeFileSync(join(folder, 'long.ts'), `export const long = '${'words and more words '.repeat(40)}'\n`)
    const { page, axeViolations } = await look(id, { viewport: { width: 360, height: 780 }, hasTouch: true })
    await page.getByRole('region', { name: 'long.ts' }).getByRole('button', { name: 'Comment on line 1' }).tap()
    await page.getByRole('textbox', { name: 'Comment on line 1' }).waitFor()
    expect(await page.evaluate<number>('document.querySelector(".review").scrollWidth')).toBeLessThanOrEqual(360)
    expect(await page.getByRole('button', { name: 'Side by side' }).count()).toBe(0)
    expect(await axeViolations()).toEqual([])
  })
})
