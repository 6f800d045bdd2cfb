// What a recording must be, by wire and kind: the SDKs' own types. `check.mjs` says `export const recorded: anthropic_request = {…};`
// for each, a literal, so that fields that a type does not know are refused, too.
import type Anthropic from '@anthropic-ai/sdk';
import type { Content, GenerateContentResponse, GenerationConfig, Tool, ToolConfig } from '@google/genai';
import type { ChatRequest, ChatResponse, ErrorResponse as OllamaError } from 'ollama';
import type OpenAI from 'openai';
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions';
import type { Response, ResponseCreateParamsStreaming, ResponseStreamEvent } from 'openai/resources/responses/responses';

export type anthropic_request = Anthropic.MessageCreateParamsStreaming;
export type anthropic_answer = Anthropic.Message;
export type anthropic_events = Anthropic.RawMessageStreamEvent[];
export type anthropic_error = Anthropic.ErrorResponse;

export type openai_request = ChatCompletionCreateParamsStreaming;
export type openai_answer = ChatCompletion;
export type openai_events = ChatCompletionChunk[];
// What stands under `error`: the SDK unwraps it.
export type openai_error = { error: OpenAI.ErrorObject };

// `output_text` is the SDK's own convenience; no server sends it.
type Sent<T> = T extends { response: Response } ? Omit<T, 'response'> & { response: Omit<Response, 'output_text'> } : T;
export type responses_request = ResponseCreateParamsStreaming;
export type responses_answer = Omit<Response, 'output_text'>;
export type responses_events = Sent<ResponseStreamEvent>[];
export type responses_error = { error: OpenAI.ErrorObject };

// Google's SDK takes parameters that are not the body of its REST API: there, what it calls `config` is parted into `systemInstruction`,
// `tools` and `toolConfig` beside `contents`, and `generationConfig`. `gemini.mjs` has the SDK itself make that body and compares it. The
// SDK's enumerations are what the API's JSON has as words.
type Json<T> = unknown extends T ? T
  : T extends string ? `${T}`
  : T extends (infer Item)[] ? Json<Item>[]
  : T extends object ? { [Key in keyof T]: Json<T[Key]> }
  : T;
export type gemini_request = {
  contents: Json<Content>[];
  systemInstruction?: Json<Content>;
  tools?: Json<Tool>[];
  toolConfig?: Json<ToolConfig>;
  generationConfig?: Json<GenerationConfig>;
};
// Without what the SDK adds to an answer: its getters, the HTTP response, and the calls that it made by itself.
type Added = 'sdkHttpResponse' | 'automaticFunctionCallingHistory'
  | 'text' | 'data' | 'functionCalls' | 'executableCode' | 'codeExecutionResult' | 'initialPromptTokenCount';
export type gemini_answer = Json<Omit<GenerateContentResponse, Added>>;
// The SDK has no type for the body of an error; this is the one that its own client reads (`throwErrorIfNotOK`).
export type gemini_error = { error: { code: number; message: string; status: string } };

// The SDK makes a `Date` of the time, and gives every line of a stream the counts of the last.
type Line = Pick<ChatResponse, 'model' | 'message' | 'done'> & Partial<Omit<ChatResponse, 'created_at'>> & { created_at: string };
export type ollama_request = ChatRequest & { stream: true };
export type ollama_answer = Omit<ChatResponse, 'created_at'> & { created_at: string };
export type ollama_events = Line[];
export type ollama_error = OllamaError;
