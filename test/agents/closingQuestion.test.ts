import { describe, expect, test } from 'vitest'
import { closingQuestion } from '../../src/agents/transcript/closingQuestion.ts'

const questions: Record<string, string> = {
  English: 'I read the code.\n\nWhich database should I use?',
  Chinese: '我看过代码了。\n\n应该用哪个数据库？',
  'Japanese, within a line': 'どのデータベースを使いますか？教えてください。',
  Arabic: 'أي قاعدة بيانات أستخدم؟',
  Greek: 'Ποια βάση να χρησιμοποιήσω;',
  'Greek, with its own character': 'Ποια βάση να χρησιμοποιήσω\u037e',
  Armenian: 'Ո՞ր տվյալների բազան։',
  Ethiopic: 'የትኛውን ልጠቀም፧',
  Spanish: '¿Qué base de datos uso?',
  'in quotes and emphasis': '**Should I call it "board"?**',
  'in brackets': 'I can drop the table (or do you still need it?)',
  'with an emoji': 'Shall I go ahead? 🙂',
  'with an exclamation mark': 'Really?!',
  'before a closing sentence': 'Which one do you prefer? Let me know and I continue.',
  'before a list of answers': 'Which one do you prefer?\n\n1. Postgres\n2. SQLite',
  'before a list of answers and a closing sentence': 'Which one do you prefer?\n\n- Postgres\n- SQLite\n\nTell me.',
  'before an example': 'Do you want this?\n\n```ts\nconst a = 1\n```',
  'as items of a list': 'Before I start:\n\n1. Which database?\n2. Which region?',
  'as an item in the middle': 'Before I start:\n- Which database?\n- The region.',
}
const statements: Record<string, string> = {
  nothing: '',
  'a sentence': 'I wrote the file.',
  'a question that is answered':
    'Is the cache cleared on an error? It is not.\n\nI recommend to merge.\n\nAll tests pass.',
  'a question further up': 'Why did it fail?\n\nThe lock was held.\n\nI released it.',
  'an address': 'The page is at https://example.org/cards?page=2 now.',
  'code in a line': 'I replaced `a ? b : c` by `b`. It ends with `x?`',
  'a block of code': 'Done.\n\n```\nwho?\n```',
  'a semicolon': 'const a = 1;',
}

describe('closingQuestion', () => {
  test.each(Object.entries(questions))('finds a question: %s', (_, text) => {
    expect(closingQuestion(text)).toBeDefined()
  })

  test.each(Object.entries(statements))('finds no question in %s', (_, text) => {
    expect(closingQuestion(text)).toBeUndefined()
  })

  test('returns the paragraph with the question', () => {
    expect(closingQuestion('I looked.\n\nWhich one, `a` or `b`?\n\n1. a\n2. b\n\nTell me.')).toBe(
      'Which one, `a` or `b`?',
    )
  })

  test('takes linear time on hostile text', () => {
    const started = performance.now()
    for (const part of ['?', '`', '```\n', '?)', '\n\n', '՞', '- ', 'α ', ' ?"'])
      closingQuestion(part.repeat(65_536 / part.length))
    expect(performance.now() - started).toBeLessThan(2000)
  })
})
