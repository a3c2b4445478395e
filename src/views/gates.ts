import type { InferOutput } from 'valibot'
import { Gate } from '../contract/boards/gates.ts'
import { Proof, ProofDetail } from '../contract/cards/proofs.ts'
import { gateFields, type GateRow } from '../store/boards/gates.ts'
import { proofFields, type ProofRow } from '../store/cards/proofs.ts'
import { viewOf } from './view.ts'

export const gate: (row: GateRow) => InferOutput<typeof Gate> = viewOf(
  gateFields,
  Gate,
  'text',
  ({ approverIds }: GateRow) => ({
    approverIds: approverIds === null ? null : (JSON.parse(approverIds) as number[]).map(String),
  }),
)
export const proof: (row: ProofRow) => InferOutput<typeof Proof> = viewOf(proofFields, Proof, 'text')
export const proofDetail: (row: ProofRow) => InferOutput<typeof ProofDetail> = viewOf(proofFields, ProofDetail, 'text')
