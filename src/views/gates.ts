import type { InferOutput } from 'valibot'
import { Gate } from '../contract/boards/gates.ts'
import { Proof, ProofDetail } from '../contract/cards/proofs.ts'
import { gateFields, type GateRow } from '../store/boards/gates.ts'
import { proofFields, type ProofRow } from '../store/cards/proofs.ts'
import { viewOf } from './view.ts'

export const gate: (row: GateRow) => InferOutput<typeof Gate> = viewOf(gateFields, Gate, 'text')
export const proof: (row: ProofRow) => InferOutput<typeof Proof> = viewOf(proofFields, Proof, 'text')
export const proofDetail: (row: ProofRow) => InferOutput<typeof ProofDetail> = viewOf(proofFields, ProofDetail, 'text')
