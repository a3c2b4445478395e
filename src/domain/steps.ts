import type { ColumnRow } from '../store/columns.ts'

/** A pipeline's step as a card keeps it. Without a prompt of its own it has its column's. */
export interface StoredStep { columnId: number; prompt: string; approval: 'auto' | 'manual' }

/** A new card's pipeline: the board's active columns in order (DECISIONS "Pipeline, auto mode, approvals"). */
export const initialSteps = (columns: readonly ColumnRow[]): StoredStep[] =>
  columns.filter(({ columnType }) => columnType === 'active').map(({ id }) => ({ columnId: id, prompt: '', approval: 'auto' }))
