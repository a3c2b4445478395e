import { expect, test } from 'vitest'
import { personQuestion } from '../../src/agents/sessions/questions/personQuestions.ts'

test.each([
  ['Which database?', 'Which database?', null],
  ['Which database?\n\nBoth are installed.', 'Which database?', 'Both are installed.'],
  ['# Which database?\nBoth are installed.', 'Which database?', 'Both are installed.'],
  ['I read the code.\n\nWhich database?', 'Which database?', 'I read the code.\n\nWhich database?'],
  ['First this?\nThen that?', 'First this?', 'Then that?'],
  ['**Which one?**\nA or B.', '**Which one?**', 'A or B.'],
  ['データベースは？\n二つあります。', 'データベースは？', '二つあります。'],
  ['Name a color.\nAny color.', 'Name a color.', 'Any color.'],
  ['Two  spaces?\nYes.', 'Two spaces?', 'Two  spaces?\nYes.'],
])('the title and the details of the question %j', (text, title, plan) => {
  expect(personQuestion(text)).toMatchObject({ title, plan })
})

test('a question that is longer than a title has its complete text as details', () => {
  const text = `${'Very long '.repeat(500)}?`
  const { title, plan } = personQuestion(text)
  expect(title.length).toBeLessThan(text.length)
  expect(plan).toBe(text)
})
