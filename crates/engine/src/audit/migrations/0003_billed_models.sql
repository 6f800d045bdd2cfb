-- Beside the model that was asked: the one that the vendor says it billed. Null where it did not say, and in rows of older versions.
ALTER TABLE tier_attempts ADD COLUMN billed_artisan TEXT;
ALTER TABLE tier_attempts ADD COLUMN billed_librarian TEXT;
ALTER TABLE tier_attempts ADD COLUMN billed_critic TEXT;
ALTER TABLE model_calls ADD COLUMN billed_model TEXT;
