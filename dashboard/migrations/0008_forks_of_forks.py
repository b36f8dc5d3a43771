from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0007_until"),
    ]

    operations = [
        migrations.AddField(
            model_name="replay",
            name="before",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="replay",
            name="diverged_at",
            field=models.BigIntegerField(blank=True, null=True),
        ),
    ]
