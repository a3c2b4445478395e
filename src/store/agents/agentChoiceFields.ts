import { text } from '../engine/record.ts'

/** Which agent works, and how: fields of cards, columns and projects (src/contract/agents/agentChoice.ts). */
export const agentChoiceFields = {
  agent: text().orNull(),
  profile: text().orNull(),
  model: text().orNull(),
  mode: text().orNull(),
  effort: text().orNull(),
}
